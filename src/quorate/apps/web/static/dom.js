// Small helpers to build the page.  Text always becomes text: there is no innerHTML anywhere.
"use strict";
function h(tag, attributes, ...children) {
  const svg = ["svg", "g", "path", "circle", "line", "rect", "text", "marker", "defs", "title"].includes(tag) && (attributes || {}).svg !== false;
  const element = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name === "svg" || value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value" || name === "checked" || name === "disabled" || name === "selected") element[name] = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children.flat(Infinity)) if (child !== null && child !== undefined && child !== false) element.append(child instanceof Node ? child : String(child));
  return element;
}
const badge = (verdict, text) => h("span", { class: `badge ${verdict}` }, { proved: "✓ ", violated: "✗ ", "not-inductive": "✗ ", unknown: "? " }[verdict] || "", text || verdict);
const plural = (n, word, many) => `${n.toLocaleString("en")} ${n === 1 ? word : many || word + "s"}`;

// Tabs that the arrow keys move between.
function tabs(names, show, first) {
  const panel = h("div", { role: "tabpanel", tabindex: "-1" });
  const buttons = names.map((name) => h("button", { role: "tab", type: "button", "data-tab": name, onclick: () => select(name) }, name));
  const bar = h("div", { class: "tabs", role: "tablist", onkeydown: (event) => {
    const move = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!move) return;
    event.stopPropagation();
    const at = (buttons.indexOf(document.activeElement) + move + names.length) % names.length;
    buttons[at].focus();
    select(names[at]);
  } }, buttons);
  let current = first || names[0];
  function select(name) {
    current = name;
    for (const button of buttons) {
      button.setAttribute("aria-selected", String(button.textContent === name));
      button.tabIndex = button.textContent === name ? 0 : -1;
    }
    panel.replaceChildren(...[show(name)].flat());
  }
  select(current);
  return { element: h("div", {}, bar, panel), refresh: () => select(current), select };
}

// Source text with a few words coloured, line by line.
const WORDS = new Set(("action after assume assert axiom before call constant conjecture definition derived else ensure enum exists export forall function if immutable import individual init instance invariant isolate let local module mutable new object old order private property relation require safety sort theorem transition type var with while modifies trace sat unsat any " +
  "machine process variables actions initial location on do goto where br rz env int set id sendbr sendrz passive reply broadcast Partition Consensus win lose decide crash locations specification safe " +
  "algorithm parameter rounds round step send receive next phase when every sync agreement validity termination univalent decided coord and or not in is").split(" "));
const PIECE = /(#[^\n]*|\/\/[^\n]*)|([A-Za-z_]\w*)|(\d+)|[^A-Za-z_\d#/]+|[#/]/g;
function highlighted(text) {
  const parts = [];
  for (const [piece, comment, word, number] of text.matchAll(PIECE)) {
    const kind = comment ? "comment" : word && WORDS.has(word) ? "word" : number ? "number" : null;
    parts.push(kind ? h("span", { class: `token-${kind}` }, piece) : piece);
  }
  return parts;
}
function sourceView(text) {
  const lines = text.split("\n").map((line, i) => h("span", { class: "line", "data-number": i + 1 }, highlighted(line), "\n"));
  const element = h("pre", { class: "source", tabindex: "0", "aria-label": "protocol text" }, lines);
  return { element, go(number) {
    for (const line of lines) line.classList.toggle("now", line.dataset.number === String(number));
    const line = lines[number - 1];
    if (!line) return;
    element.closest("details")?.setAttribute("open", "");
    element.scrollTop = line.offsetTop - element.offsetTop - element.clientHeight / 3;
    element.scrollIntoView({ block: "nearest" });
  } };
}
function themeButton() {
  const root = document.documentElement;
  const dark = () => (root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  return h("button", { type: "button", "aria-label": "light or dark", title: "light or dark", onclick: () => { root.dataset.theme = dark() ? "light" : "dark"; } }, "◐");
}
const logo = () => h("svg", { viewBox: "0 0 24 24", "aria-hidden": "true" },
  h("circle", { cx: 12, cy: 12, r: 9, fill: "none", stroke: "var(--accent)", "stroke-width": 2 }),
  [[12, 3], [19.8, 16.5], [4.2, 16.5]].map(([x, y]) => h("circle", { cx: x, cy: y, r: 3, fill: "var(--accent)" })));
