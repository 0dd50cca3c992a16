// The trace explorer: a list of steps with their differences, lanes, tables, graphs, search, and expressions.
// A trace is data made by `apps/web/traces.py`; every family of protocols has the same form.
"use strict";
function Trace(trace, options) {
  const shown = { state: trace.states.length - 1, search: "", changedOnly: false, expression: "", lane: trace.lane, hidden: new Set() };
  const byName = new Map(trace.symbols.map((symbol) => [symbol.name, symbol]));
  const keyed = trace.states.map((state) => new Map(Object.entries(state).map(([name, rows]) => [name, new Map(rows.map((row) => {
    const arity = byName.get(name).arguments.length;
    return [row.slice(0, arity).join("\u0000"), byName.get(name).relation ? true : row[arity]];
  }))])));
  const lookup = (i, name, args) => {
    const value = keyed[i].get(name)?.get(args.join("\u0000"));
    return byName.get(name).relation ? Boolean(value) : value;
  };
  const shownFact = (symbol, key, value) => {
    const call = symbol.arguments.length ? `${symbol.name}(${key.split("\u0000").join(", ")})` : symbol.name;
    return symbol.relation ? call : `${call} = ${value}`;
  };
  function changes(i) {
    if (i === 0) return [];
    const found = [];
    for (const symbol of trace.symbols) {
      const before = keyed[i - 1].get(symbol.name) || new Map(), after = keyed[i].get(symbol.name) || new Map();
      for (const [key, value] of after) {
        if (!before.has(key)) found.push({ kind: "add", text: "+ " + shownFact(symbol, key, value), symbol: symbol.name, key });
        else if (before.get(key) !== value) found.push({ kind: "set", text: `${shownFact(symbol, key, before.get(key))} → ${value}`, symbol: symbol.name, key });
      }
      for (const [key, value] of before) if (!after.has(key)) found.push({ kind: "del", text: shownFact(symbol, key, value), symbol: symbol.name, key });
    }
    return found;
  }
  const differences = trace.states.map((_, i) => changes(i));
  const matches = (text) => shown.search && text.toLowerCase().includes(shown.search.toLowerCase());
  const marked = (text) => {
    if (!matches(text)) return text;
    const at = text.toLowerCase().indexOf(shown.search.toLowerCase());
    return [text.slice(0, at), h("mark", {}, text.slice(at, at + shown.search.length)), text.slice(at + shown.search.length)];
  };
  const label = (i) => (i === 0 ? (trace.kind === "cti" ? "a state that need not be reachable" : "initial state") : trace.steps[i - 1].label);

  // -- the list of steps
  const list = h("ol", { class: "steps", "aria-label": "steps" });
  function drawList() {
    let values = null;
    message.replaceChildren();
    if (shown.expression.trim()) {
      try { values = Expression.values(shown.expression, trace, lookup); } catch (problem) { message.replaceChildren(h("div", { class: "notice" }, problem.message)); }
    }
    list.replaceChildren(...trace.states.map((_, i) => {
      const found = differences[i], text = label(i);
      const hit = !shown.search || matches(text) || found.some((change) => matches(change.text));
      return h("li", { class: hit ? "" : "dim" }, h("button", { type: "button", "aria-current": i === shown.state ? "step" : null, "data-step": i, onclick: () => go(i) },
        values && h("span", { class: `value badge ${values[i] === true ? "proved" : values[i] === false ? "violated" : ""}` }, String(values[i])),
        h("span", { class: "number" }, i), h("span", { class: "label" }, marked(text)),
        i === trace.states.length - 1 && trace.violated && h("span", { class: "badge violated", style: null }, "violates ", trace.violated),
        found.length > 0 && h("div", { class: "chips" }, found.slice(0, 12).map((change) => h("span", { class: `chip ${change.kind}` }, marked(change.text))), found.length > 12 && h("span", { class: "chip" }, `and ${found.length - 12} more`))));
    }));
  }
  function go(i, focus) {
    shown.state = Math.max(0, Math.min(trace.states.length - 1, i));
    for (const button of list.querySelectorAll("button")) {
      const now = Number(button.dataset.step) === shown.state;
      if (now) { button.setAttribute("aria-current", "step"); if (focus) button.focus(); button.scrollIntoView({ block: "nearest" }); } else button.removeAttribute("aria-current");
    }
    view.refresh();
  }

  // -- lanes
  function sequence() {
    const lanes = trace.universe.find((sort) => sort.name === shown.lane)?.elements || [];
    const gap = Math.max(70, ...lanes.map((name) => name.length * 8 + 20)), left = 44, row = trace.steps.some((step) => step.arrows) ? 72 : 46, top = 40;
    const edge = left + gap * lanes.length + 10;
    const widest = Math.max(24, ...trace.steps.map((step) => Math.max(step.label.length, step.messages ? step.messages.length : 0)));
    const width = edge + Math.min(720, widest * 7.4 + 30), height = top + row * trace.states.length + 10;
    const x = (name) => left + gap * lanes.indexOf(name) + gap / 2;
    const parts = [];
    lanes.forEach((name) => parts.push(h("text", { x: x(name), y: 20, "text-anchor": "middle", class: "mono" }, name), h("line", { class: "lane", x1: x(name), x2: x(name), y1: 28, y2: height - 6 })));
    trace.states.forEach((_, i) => {
      const y = top + row * i + row / 2, step = i ? trace.steps[i - 1] : null;
      const bound = step ? step.places.filter(([sort]) => sort === shown.lane).map(([, name]) => name) : [];
      const marks = [];
      for (const target of new Set(bound.slice(1))) {
        if (target === bound[0]) continue;
        const a = x(bound[0]), b = x(target), sign = b > a ? 1 : -1;
        marks.push(h("path", { class: "arrow", d: `M${a} ${y} L${b - sign * 13} ${y}` }), h("path", { class: "head", d: `M${b - sign * 6} ${y} l${-sign * 9} -5 l0 10 z` }), h("circle", { class: "other", cx: b, cy: y, r: 5 }));
      }
      for (const [from, to] of step?.arrows || []) {
        const a = x(from), b = x(to), y1 = y - row / 2 + 8, y2 = y + row / 2 - 6, length = Math.hypot(b - a, y2 - y1), ux = (b - a) / length, uy = (y2 - y1) / length;
        marks.push(h("path", { class: "message", d: `M${a} ${y1} L${b - ux * 7} ${y2 - uy * 7}` }, h("title", {}, `${to} hears ${from}`)), h("path", { class: "tip", d: `M${b} ${y2} l${-ux * 8 - uy * 4} ${-uy * 8 + ux * 4} l${uy * 8} ${-ux * 8} z` }));
      }
      if (bound.length) marks.push(h("circle", { class: "dot", cx: x(bound[0]), cy: step?.arrows ? y - row / 2 + 8 : y, r: 6.5 }));
      const changed = differences[i].length ? plural(differences[i].length, "change") : i ? "no change" : "";
      parts.push(h("g", { class: `event${i === shown.state ? " now" : ""}${i === trace.states.length - 1 && trace.violated ? " last" : ""}`, onclick: () => go(i) },
        h("rect", { class: "hit", x: 0, y: y - row / 2, width, height: row, rx: 6 }),
        h("text", { x: 26, y: y + 4, "text-anchor": "end", class: "soft" }, i), marks,
        h("text", { x: edge, y: y - 1, class: "mono" }, label(i).slice(0, 96)), h("text", { x: edge, y: y + 14, class: "soft" }, step?.messages || changed)));
    });
    const choose = trace.universe.length > 1 && h("label", { class: "small muted" }, "lanes ", h("select", { onchange: (event) => { shown.lane = event.target.value; view.refresh(); } },
      trace.universe.map((sort) => h("option", { value: sort.name, selected: sort.name === shown.lane }, sort.name))));
    return [h("div", { class: "row", style: null }, choose), h("div", { class: "scroll" }, h("svg", { class: "drawing", viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": "sequence of steps, a lane for each element" }, parts))];
  }

  // -- tables
  function changedAt(symbol, key) { return differences[shown.state].find((change) => change.symbol === symbol && change.key === key); }
  function tableOf(symbol) {
    const rows = keyed[shown.state].get(symbol.name) || new Map(), gone = differences[shown.state].filter((change) => change.symbol === symbol.name && change.kind === "del");
    const elements = (sort) => trace.universe.find((item) => item.name === sort)?.elements || [];
    if (symbol.arguments.length === 2 && symbol.relation && elements(symbol.arguments[0]).length && elements(symbol.arguments[1]).length) {
      const columns = elements(symbol.arguments[1]);
      return h("table", { class: "matrix" }, h("thead", {}, h("tr", {}, h("th"), columns.map((name) => h("th", { scope: "col" }, name)))),
        h("tbody", {}, elements(symbol.arguments[0]).map((first) => h("tr", {}, h("th", { scope: "row" }, first), columns.map((second) => {
          const key = `${first}\u0000${second}`, change = changedAt(symbol.name, key);
          return h("td", { class: change ? change.kind : rows.has(key) ? "yes" : "" }, rows.has(key) ? "●" : change ? "○" : "");
        })))));
    }
    const facts = [...rows].map(([key, value]) => [changedAt(symbol.name, key)?.kind || "", symbol.arguments.length ? `${key.split("\u0000").join(", ")}${symbol.relation ? "" : " ↦ " + value}` : symbol.relation ? "true" : String(value)]);
    if (!facts.length && !gone.length) return h("span", { class: "faint small" }, symbol.arguments.length ? "nowhere" : "false");
    return h("div", { class: "chips" }, facts.map(([kind, text]) => h("span", { class: `chip ${kind}` }, marked(text))), gone.map((change) => h("span", { class: "chip del" }, change.key.split("\u0000").join(", ") || "true")));
  }
  function tables() {
    const wanted = trace.symbols.filter((symbol) => (!shown.changedOnly || differences[shown.state].some((change) => change.symbol === symbol.name)) && (!shown.search || matches(symbol.name) || [...(keyed[shown.state].get(symbol.name) || new Map()).keys()].some((key) => matches(key.split("\u0000").join(", ")))));
    const only = h("label", { class: "small muted row" }, h("input", { type: "checkbox", checked: shown.changedOnly, onchange: (event) => { shown.changedOnly = event.target.checked; view.refresh(); } }), "only what this step changes");
    return [h("div", { class: "row" }, only), h("div", { class: "tables" }, wanted.map((symbol) => h("div", { class: "table" }, h("h3", {}, marked(symbol.name), " ", h("span", { class: "faint" }, symbol.mutable ? "" : "rigid")), tableOf(symbol)))),
      !wanted.length && h("p", { class: "muted" }, shown.changedOnly ? "This step changes nothing." : "Nothing matches.")].filter(Boolean);
  }

  // -- graphs
  const COLOURS = ["#3b6fe0", "#d9743a", "#2a9d6f", "#b04fc4", "#c7a020", "#d24b6a", "#4aa8c0"];
  function graph() {
    const binary = trace.symbols.filter((symbol) => (symbol.relation && symbol.arguments.length === 2) || (!symbol.relation && symbol.arguments.length === 1 && trace.universe.some((sort) => sort.name === symbol.sort)));
    if (!binary.length) return [h("p", { class: "muted" }, "This protocol has no relation between two elements to draw; the tables show its state.")];
    const ends = (symbol) => (symbol.relation ? symbol.arguments : [symbol.arguments[0], symbol.sort]);
    const drawn = binary.filter((symbol) => !shown.hidden.has(symbol.name));
    const sorts = [...new Set((drawn.length ? drawn : binary).flatMap(ends))], nodes = sorts.flatMap((sort) => trace.universe.find((item) => item.name === sort)?.elements || []);
    const size = 460, middle = size / 2, radius = nodes.length > 1 ? 165 : 0;
    const at = new Map(nodes.map((name, i) => [name, [middle + radius * Math.sin((2 * Math.PI * i) / nodes.length), middle - radius * Math.cos((2 * Math.PI * i) / nodes.length)]]));
    const unary = trace.symbols.filter((symbol) => symbol.relation && symbol.arguments.length === 1);
    const edges = [];
    drawn.forEach((symbol, number) => {
      const colour = COLOURS[binary.indexOf(symbol) % COLOURS.length], now = keyed[shown.state].get(symbol.name) || new Map();
      const gone = differences[shown.state].filter((change) => change.symbol === symbol.name && change.kind === "del").map((change) => [change.key, "gone"]);
      for (const [key, value] of [...now, ...gone]) {
        const [from, to] = symbol.relation ? key.split("\u0000") : [key, value];
        if (!at.has(from) || !at.has(to)) continue;
        const [x1, y1] = at.get(from), [x2, y2] = at.get(to), kind = value === "gone" ? " gone" : changedAt(symbol.name, key) ? " new" : "";
        const title = h("title", {}, shownFact(symbol, key, value));
        if (from === to) { edges.push(h("path", { class: `edge${kind}`, stroke: colour, d: `M${x1 - 8} ${y1 - 18} C ${x1 - 30} ${y1 - 56}, ${x1 + 30} ${y1 - 56}, ${x1 + 8} ${y1 - 18}` }, title)); continue; }
        const dx = x2 - x1, dy = y2 - y1, length = Math.hypot(dx, dy), bend = 16 + 12 * number;
        const mx = (x1 + x2) / 2 - (dy / length) * bend, my = (y1 + y2) / 2 + (dx / length) * bend;
        const ax = x2 - mx, ay = y2 - my, reach = Math.hypot(ax, ay), reached = Math.min(18 / Math.max(0.01, Math.abs(ay / reach)), (Math.max(36, to.length * 7.4 + 14) / 2 + 2) / Math.max(0.01, Math.abs(ax / reach))), ex = x2 - (ax / reach) * reached, ey = y2 - (ay / reach) * reached;
        const px = -ay / reach, py = ax / reach, bx = ex - (ax / reach) * 9, by = ey - (ay / reach) * 9;
        edges.push(h("path", { class: `edge${kind}`, stroke: colour, d: `M${x1} ${y1} Q ${mx} ${my} ${bx} ${by}` }, title), h("path", { fill: colour, d: `M${ex} ${ey} L${bx + px * 5} ${by + py * 5} L${bx - px * 5} ${by - py * 5} z` }));
      }
    });
    const circles = nodes.map((name) => {
      const [x, y] = at.get(name), holds = unary.filter((symbol) => (keyed[shown.state].get(symbol.name) || new Map()).has(name));
      const changed = differences[shown.state].some((change) => change.key.split("\u0000").includes(name));
      const wide = Math.max(36, name.length * 7.4 + 14), out = y < middle ? -24 : 32;
      return h("g", {}, h("rect", { class: `node${changed ? " changed" : ""}`, x: x - wide / 2, y: y - 16, width: wide, height: 32, rx: 16 }), h("text", { x, y: y + 4, "text-anchor": "middle", class: "mono" }, name),
        h("text", { x, y: y + out, "text-anchor": "middle", class: "soft" }, holds.map((symbol) => symbol.name).join(", ")), h("title", {}, name));
    });
    const legend = h("div", { class: "row small" }, binary.map((symbol, i) => h("label", { class: "row" }, h("input", { type: "checkbox", checked: !shown.hidden.has(symbol.name), onchange: (event) => { event.target.checked ? shown.hidden.delete(symbol.name) : shown.hidden.add(symbol.name); view.refresh(); } }),
      h("svg", { width: 14, height: 14 }, h("rect", { width: 14, height: 14, rx: 4, fill: COLOURS[i % COLOURS.length] })), symbol.name)));
    return [legend, h("div", { class: "scroll" }, h("svg", { class: "drawing", viewBox: `-30 -10 ${size + 60} ${size + 30}`, width: size + 60, role: "img", "aria-label": "graph of the state" }, edges, circles))];
  }

  function stepView() {
    const i = shown.state, step = i ? trace.steps[i - 1] : null;
    const rows = step ? step.bindings.map(([name, value]) => [h("dt", {}, name), h("dd", { class: "mono" }, value)]) : [];
    const link = step?.line && options.source && h("button", { type: "button", onclick: () => options.source.go(step.line) }, `line ${step.line} of the protocol`);
    const last = i === trace.states.length - 1 && trace.violated;
    return [h("h3", {}, h("span", { class: "mono" }, label(i))), h("p", { class: "row" }, link, options.actions?.(i)), rows.length > 0 && h("dl", { class: "facts" }, rows), step?.choices?.length > 0 && h("p", { class: "muted small" }, "choosing ", h("span", { class: "mono" }, step.choices.join(", "))),
      differences[i].length > 0 ? [h("h3", {}, i ? "what changes" : ""), h("div", { class: "chips" }, differences[i].map((change) => h("span", { class: `chip ${change.kind}` }, marked(change.text))))] : h("p", { class: "muted" }, i ? "This step changes nothing." : "The first state; the other tabs show what holds in it."),
      last && h("div", { class: "notice bad" }, h("strong", {}, `This state violates ${trace.violated}. `), trace.why), last && trace.formula && h("pre", { class: "formula" }, trace.formula)].flat(2).filter(Boolean);
  }

  const message = h("div", { role: "status" });
  const view = tabs(["Step", "Sequence", "Tables", "Graph"], (name) => ({ Step: stepView, Sequence: sequence, Tables: tables, Graph: graph })[name](), options.tab);
  const search = h("input", { type: "search", placeholder: "filter steps and facts", "aria-label": "filter steps and facts", oninput: (event) => { shown.search = event.target.value; drawList(); view.refresh(); } });
  const expression = h("input", { class: "mono", placeholder: trace.example || "an expression, in every state", "aria-label": "evaluate an expression in every state", spellcheck: "false", oninput: (event) => { shown.expression = event.target.value; drawList(); } });
  drawList();
  const element = h("div", { class: "trace", onkeydown: (event) => {
    if (["INPUT", "SELECT", "TEXTAREA"].includes(event.target.tagName)) { if (event.key === "Escape") event.target.blur(); return; }
    const jump = { ArrowDown: shown.state + 1, ArrowRight: shown.state + 1, j: shown.state + 1, ArrowUp: shown.state - 1, ArrowLeft: shown.state - 1, k: shown.state - 1, Home: 0, End: trace.states.length - 1 }[event.key];
    if (jump !== undefined) { go(jump, true); event.preventDefault(); } else if (event.key === "/") { search.focus(); event.preventDefault(); } else if (event.key === "e") { expression.focus(); event.preventDefault(); }
  } },
    trace.kind === "cti" && h("div", { class: "notice" }, "A counterexample to induction: a step from a state that the invariants allow. It is not a run; its first state need not be reachable."),
    trace.note && h("div", { class: "notice" }, trace.note),
    h("div", { class: "toolbar" }, h("button", { type: "button", "aria-label": "step before", onclick: () => go(shown.state - 1) }, "←"), h("button", { type: "button", "aria-label": "next step", onclick: () => go(shown.state + 1) }, "→"), search, expression),
    message, h("div", { class: "explorer" }, list, h("div", { class: "state" }, view.element)),
    h("p", { class: "small faint" }, h("kbd", {}, "↑"), " ", h("kbd", {}, "↓"), " steps · ", h("kbd", {}, "/"), " filter · ", h("kbd", {}, "e"), " expression · ", h("kbd", {}, "Esc"), " back"));
  return { element, go, lookup, get state() { return shown.state; }, select: view.select };
}
