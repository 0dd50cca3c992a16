// The live page: files, an editor with diagnostics, verification with progress, and walks through an instance by hand.
"use strict";
const token = new URLSearchParams(location.search).get("token") || "";
async function ask(what, request) {
  const reply = await fetch(`/api/${what}`, { method: "POST", headers: { "Content-Type": "application/json", "X-Quorate-Token": token }, body: JSON.stringify(request || {}) });
  const answer = await reply.json();
  if (!reply.ok) throw new Error(answer.error || reply.statusText);
  return answer;
}

const now = { place: "folder", name: "", text: "", saved: "", parsed: null, job: null, sizes: {}, opened: 0 };
const status = h("div", { role: "status", "aria-live": "polite", class: "small muted grow" });
const say = (text, bad) => { status.textContent = text; status.style.color = bad ? "var(--bad)" : ""; };

// -- files
const files = h("div", { class: "filelist" });
async function list() {
  const found = await ask("files");
  const filter = h("input", { type: "search", placeholder: "find a protocol", "aria-label": "find a protocol", oninput: () => {
    for (const button of files.querySelectorAll("button[data-name]")) button.classList.toggle("hidden", !button.dataset.name.toLowerCase().includes(filter.value.toLowerCase()));
  } });
  const group = (place, title) => found[place] && h("details", { open: place === "folder" || !found.folder?.length ? "" : null }, h("summary", {}, title, " ", h("span", { class: "faint small" }, found[place].length)),
    found[place].map((name) => h("button", { type: "button", "data-name": name, "data-place": place, class: "file mono", onclick: () => open(place, name) }, name)), !found[place].length && h("p", { class: "small muted" }, "No protocol here yet; open one of the library and save it."));
  files.replaceChildren(filter, ...[group("folder", "this folder"), group("library", "library")].filter(Boolean));
}
async function open(place, name) {
  if (now.text !== now.saved && !confirm("Leave the changes in the editor unsaved?")) return;
  const turn = now.opened += 1;  // of files opened in quick succession, the last one counts
  run.disabled = walk.disabled = true;
  if (now.job) ask("cancel", { job: now.job });
  try {
    const found = await ask("read", { place, name });
    if (turn !== now.opened) return;
    Object.assign(now, { place, name, text: found.text, saved: found.text });
    editor.set(found.text);
    for (const button of files.querySelectorAll("button[data-name]")) button.setAttribute("aria-current", String(button.dataset.name === name && button.dataset.place === place));
    saveAs.value = place === "folder" ? name : name.split("/").pop();
    result.replaceChildren();
    say("");
    await parse();
  } catch (problem) { say(problem.message, true); enable(); }
}
async function save() {
  try {
    await ask("write", { name: saveAs.value, text: now.text });
    Object.assign(now, { place: "folder", name: saveAs.value, saved: now.text });
    say(`saved ${saveAs.value}`);
    await list();
  } catch (problem) { say(problem.message, true); }
}

// -- the editor: a transparent text area over the same text in colours
const editor = (() => {
  const colours = h("pre", { class: "colours", "aria-hidden": "true" }), numbers = h("pre", { class: "numbers", "aria-hidden": "true" });
  const area = h("textarea", { class: "text", spellcheck: "false", autocapitalize: "off", autocomplete: "off", wrap: "off", "aria-label": "protocol text" });
  const problems = h("ul", { class: "problems", "aria-label": "diagnostics" });
  let found = [];
  function paint() {
    const text = area.value, marks = found.filter((item) => item.end > item.start || item.start < text.length).sort((a, b) => a.start - b.start), parts = [];
    let at = 0;
    for (const item of marks) {
      if (item.start < at) continue;
      parts.push(highlighted(text.slice(at, item.start)), h("span", { class: `squiggle ${item.severity}`, title: item.message }, text.slice(item.start, Math.max(item.end, item.start + 1)) || " "));
      at = Math.max(item.end, item.start + 1);
    }
    parts.push(highlighted(text.slice(at)), "\n");
    colours.replaceChildren(...parts.flat(Infinity));
    const bad = new Set(found.map((item) => item.line));
    numbers.replaceChildren(...text.split("\n").map((_, i) => h("span", { class: bad.has(i + 1) ? "bad" : "" }, `${i + 1}\n`)));
    scroll();
  }
  const scroll = () => { colours.scrollTop = numbers.scrollTop = area.scrollTop; colours.scrollLeft = area.scrollLeft; };
  let timer = 0;
  area.addEventListener("input", () => { now.text = area.value; found = []; paint(); clearTimeout(timer); timer = setTimeout(parse, 250); });
  area.addEventListener("scroll", scroll);
  area.addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key === "s") { event.preventDefault(); save(); }
    if ((event.ctrlKey || event.metaKey) && event.key === "Enter") { event.preventDefault(); verify(); }
  });
  function goTo(start) { area.focus(); area.setSelectionRange(start, start); const line = area.value.slice(0, start).split("\n").length; area.scrollTop = Math.max(0, (line - 6) * 20); }
  return {
    element: h("div", {}, h("div", { class: "editor" }, numbers, h("div", { class: "paper" }, colours, area)), problems), area,
    set(text) { area.value = text; found = []; paint(); area.scrollTop = 0; },
    show(diagnostics) {
      found = diagnostics;
      problems.replaceChildren(...diagnostics.map((item) => h("li", {}, h("button", { type: "button", class: item.severity, onclick: () => goTo(item.start) }, h("strong", {}, `line ${item.line}: `), item.message, item.fix && h("span", { class: "muted" }, ` — ${item.fix}`)))));
      paint();
    },
    goLine(line) { goTo(area.value.split("\n").slice(0, line - 1).join("\n").length + (line > 1 ? 1 : 0)); },
  };
})();
function enable() {
  walk.disabled = !now.parsed?.methods;
  run.disabled = walk.disabled || now.job !== null;
}
async function parse() {
  const text = now.text, turn = now.opened;
  if (!now.name) return;
  try {
    const found = await ask("parse", { name: now.name, text });
    if (text !== now.text || turn !== now.opened) return;
    now.parsed = found;
    editor.show(found.diagnostics);
    enable();
    method.replaceChildren(h("option", { value: "" }, "all methods"), ...(found.methods || []).map((item) => h("option", { value: item.name, title: item.words }, item.name)));
    sizes.replaceChildren(...(found.sorts || []).map((sort) => h("label", { class: "small" }, sort, " ", h("input", { type: "number", min: 1, max: 6, value: now.sizes[sort] || 2, "aria-label": `number of ${sort}`, class: "count", oninput: (event) => { now.sizes[sort] = Number(event.target.value); } }))));
    walk.classList.toggle("hidden", !found.sorts?.length);
  } catch (problem) { say(problem.message, true); }
}

// -- verification
async function verify() {
  if (now.job || run.disabled) return;
  const racers = new Map(), progress = h("div", { class: "card" }), lines = h("table", {}), stop = h("button", { type: "button", onclick: () => { stop.disabled = true; ask("cancel", { job: now.job }); } }, "cancel");
  progress.append(h("div", { class: "row" }, h("h2", {}, "Verifying ", h("span", { class: "mono" }, now.name)), h("span", { class: "right" }, stop)), lines);
  result.replaceChildren(progress);
  run.disabled = true;
  const began = Date.now();
  try {
    const { job } = await ask("verify", { name: now.name, text: now.text, seconds: Number(seconds.value) || 60, methods: method.value ? [method.value] : [] });
    now.job = job;
    let seen = 0, done = false;
    while (!done) {
      const found = await ask("news", { job, from: seen });
      seen += found.news.length;
      for (const event of found.news) {
        if (event.event === "answer" && !progress.isConnected) done = true; else if (event.event === "answer") { result.replaceChildren(...fileView(event.file, { source: { go: editor.goLine }, actions: (which, i) => branch(which, i) })); say(event.interrupted ? "cancelled; this is what is established" : `done in ${((Date.now() - began) / 1000).toFixed(1)} s`); done = true; } else if (event.error) { progress.append(h("div", { class: "notice bad" }, event.error)); done = true; } else racers.set(event.method, event);
      }
      if (seen && found.news.at(-1)?.event === "doing") seen -= 1;
      lines.replaceChildren(h("tbody", {}, [...racers.values()].map((event) => h("tr", {}, h("td", { class: "mono" }, event.method), h("td", { class: "muted" }, { start: "starts", doing: "", found: "finds", end: "ends" }[event.event]), h("td", {}, event.text)))));
      if (!done && progress.isConnected) say(`${((Date.now() - began) / 1000).toFixed(0)} s`);
      if (found.ended && !done) { progress.append(h("div", { class: "notice" }, "The verification ended without an answer.")); done = true; }
      if (!done && !found.news.some((event) => event.event !== "doing")) await new Promise((resolve) => setTimeout(resolve, 200));
    }
  } catch (problem) { progress.append(h("div", { class: "notice bad" }, problem.message)); }
  stop.disabled = true;
  now.job = null;
  enable();
}
function branch(which, i) {
  if (!which.itf || which.trace.kind !== "run" || now.parsed?.language === "rounds") return null;
  return h("button", { type: "button", onclick: () => walkFrom(which.itf, i) }, "go on from here by hand");
}

// -- walking by hand
async function walkFrom(itf, upto) {
  const trace = JSON.parse(itf);
  trace.states = trace.states.slice(0, upto + 1);
  if (trace["#meta"]) delete trace["#meta"].violated;
  await stepByHand(trace);
}
async function stepByHand(trace) {
  const box = h("section", { class: "card" }, h("h2", {}, "Step by hand"), h("p", { class: "muted" }, "building the instance …"));
  result.replaceChildren(box);
  try {
    const begun = await ask("walk", { name: now.name, text: now.text, trace: trace || null, sizes: Object.fromEntries((now.parsed.sorts || []).map((sort) => [sort, now.sizes[sort] || 2])) });
    if (begun.error) throw new Error(begun.error);
    if (!begun.starts.length) throw new Error("there is no initial state at these sizes");
    const cache = new Map();
    const path = begun.path || [begun.starts[0]];
    const session = {
      starts: begun.starts, at: path.at(-1), path, taken: begun.taken || [], steps: begun.steps || [],
      async look(state) { if (!cache.has(state)) cache.set(state, await ask("state", { walk: begun.walk, state })); const found = cache.get(state); if (found.error) throw new Error(found.error); return found; },
      async begin(state) { Object.assign(session, { at: state, path: [state], taken: [], steps: [] }); },
      async take(index) { const { enabled } = await session.look(session.at); const step = enabled[index]; session.path.push(step.to); session.taken.push(index); session.steps.push(step); session.at = step.to; },
      back(to) { session.path.length = to + 1; session.taken.length = session.steps.length = to; session.at = session.path[to]; },
    };
    await drawWalk(box, begun, session);
  } catch (problem) { box.append(h("div", { class: "notice bad" }, problem.message)); }
}
async function drawWalk(box, begun, session) {
  const looked = await Promise.all(session.path.map((state) => session.look(state))), here = looked.at(-1);
  const trace = { kind: "run", violated: here.violated[0] || null, why: "", formula: "", example: "an expression, in every state", ...begun.head, states: looked.map((item) => item.table), steps: session.steps };
  const again = () => drawWalk(box, begun, session);
  const explorer = Trace(trace, { source: { go: editor.goLine }, tab: box.dataset.tab, actions: (i) => i < session.path.length - 1 && h("button", { type: "button", onclick: () => { session.back(i); again(); } }, "branch from here") });
  const options = here.enabled.filter((step) => !step.same), idle = here.enabled.length - options.length;
  const random = async (count) => { for (let i = 0; i < count; i++) { const { enabled, violated } = await session.look(session.at); const moving = enabled.map((step, k) => [step, k]).filter(([step]) => !step.same); if (!moving.length || violated.length) break; await session.take(moving[Math.floor(Math.random() * moving.length)][1]); } again(); };
  const share = async () => { const found = await ask("share", { walk: begun.walk, path: session.path, steps: session.taken }); if (found.itf) download(`${now.name.split("/").pop().replace(/\.\w+$/, "")}.itf.json`, JSON.stringify(found.itf, null, 1)); else say(found.error, true); };
  box.replaceChildren(...[h("div", { class: "row" }, h("h2", {}, "Step by hand"), h("span", { class: "right row" },
    session.starts.length > 1 && h("label", { class: "small muted" }, "initial state ", h("select", { onchange: async (event) => { await session.begin(Number(event.target.value)); again(); } }, session.starts.map((start, i) => h("option", { value: start, selected: start === session.path[0] }, i + 1)))),
    h("button", { type: "button", disabled: session.path.length < 2, onclick: () => { session.back(session.path.length - 2); again(); } }, "undo"), h("button", { type: "button", onclick: () => random(1) }, "random step"), h("button", { type: "button", onclick: () => random(20) }, "random run"), begun.head.symbols.some((symbol) => symbol.name !== "at") && session.steps.length > 0 && now.parsed.language !== "mercury" && h("button", { type: "button", onclick: share }, "save the trace"))),
    here.violated.length > 0 && h("div", { class: "notice bad" }, "This state violates ", here.violated.join(", "), "."),
    h("h3", {}, "What can happen next"), h("div", { class: "options" }, options.map((step) => h("button", { type: "button", class: "mono option", onclick: async () => { await session.take(here.enabled.indexOf(step)); again(); } }, step.label)), !options.length && h("span", { class: "muted" }, "nothing: no transition leads to another state")), idle > 0 && h("p", { class: "small faint" }, `and ${plural(idle, "step")} that change nothing`), here.more && h("p", { class: "small faint" }, "only the first steps are shown"),
    here.blocked.length > 0 && h("details", {}, h("summary", {}, `What cannot, and why (${here.blocked.length})`), h("table", {}, h("tbody", {}, here.blocked.map((item) => h("tr", {}, h("td", { class: "mono" }, item.line ? h("button", { type: "button", class: "small", onclick: () => editor.goLine(item.line) }, item.name) : item.name), h("td", {}, item.failing.length ? h("pre", { class: "formula" }, item.failing.join("\n")) : "no choice of its values is possible", item.closest && h("div", { class: "small faint" }, "does not hold for ", item.closest))))))),
    h("h3", {}, "The run so far"), explorer.element].filter(Boolean));
  explorer.go(session.path.length - 1);
}
async function openTrace(event) {
  const file = event.target.files[0];
  if (!file) return;
  try {
    const itf = await file.text(), found = await ask("trace", { name: now.name, text: now.text, trace: JSON.parse(itf) });
    if (found.error) throw new Error(found.error);
    result.replaceChildren(h("section", { class: "card" }, h("h2", {}, file.name), Trace(found.trace, { source: { go: editor.goLine }, actions: (i) => branch({ trace: found.trace, itf }, i) }).element));
  } catch (problem) { say(problem instanceof SyntaxError ? "this file is not JSON" : problem.message, true); }
  event.target.value = "";
}

// -- the page
const saveAs = h("input", { class: "mono", "aria-label": "name to save as", placeholder: "name.pyv" });
const method = h("select", { "aria-label": "method" }, h("option", { value: "" }, "all methods"));
const seconds = h("input", { type: "number", min: 1, max: 3600, value: 60, "aria-label": "seconds", class: "count" });
const sizes = h("span", { class: "row" });
const run = h("button", { type: "button", class: "primary", disabled: true, onclick: verify, title: "Ctrl-Enter" }, "Verify");
const walk = h("button", { type: "button", disabled: true, onclick: () => stepByHand() }, "Step by hand");
const picker = h("input", { type: "file", accept: ".json", class: "hidden", onchange: openTrace });
const result = h("div", { class: "result", "aria-live": "polite" });
document.title = "Quorate";
document.body.append(h("a", { class: "skip", href: "#main" }, "to the content"), h("header", { class: "top" }, h("span", { class: "brand" }, logo(), "Quorate"), status, h("span", { class: "small faint" }, `quorate ${JSON.parse(document.getElementById("data").textContent).version}`), themeButton()),
  h("main", { id: "main", class: "app" }, h("nav", { class: "card", "aria-label": "protocols" }, files), h("div", { class: "work" },
    h("section", { class: "card" }, h("div", { class: "toolbar" }, saveAs, h("button", { type: "button", onclick: save, title: "Ctrl-S" }, "Save"), h("button", { type: "button", onclick: () => picker.click() }, "Open a trace"), picker), editor.element,
      h("div", { class: "toolbar actions" }, run, method, h("label", { class: "small muted" }, seconds, " s"), h("span", { class: "right row" }, sizes, walk))), result)));
addEventListener("beforeunload", (event) => { if (now.text !== now.saved) event.preventDefault(); });
list().then(() => files.querySelector("button[data-name]")?.click()).catch((problem) => say(problem.message, true));
