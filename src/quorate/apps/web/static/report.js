// A report: the verdicts of some files, and for each file its proof, its trace and its text.
"use strict";
function fileView(file, extra) {
  const view = extra?.source ? null : sourceView(file.source);
  const source = extra?.source || view;
  const goTo = (line) => source && line && source.go(line);
  const properties = h("section", { class: "card" }, h("div", { class: "row" }, h("h2", {}, file.path), h("span", { class: "right muted small" }, file.seconds !== undefined ? `${file.seconds.toFixed(1)} s` : "")),
    h("div", { class: "properties" }, file.results.map((result) => h("div", { class: "property" }, badge(result.verdict),
      h("div", {}, h("strong", { class: "mono" }, result.property), " ", result.expected !== "proved" && h("span", { class: "small faint" }, result.expected === result.verdict ? "as expected" : `expected ${result.expected}`), result.expected === "proved" && result.verdict !== "proved" && h("span", { class: "small faint" }, "expected to hold")),
      result.line ? h("button", { type: "button", class: "small", onclick: () => goTo(result.line) }, `line ${result.line}`) : h("span"),
      h("div", { class: "how muted small", style: null }, [result.method, result.scope, result.reason, `${result.seconds.toFixed(1)} s`].filter(Boolean).join(" · ")),
      result.formula && h("pre", { class: "formula" }, result.formula)))),
    (file.warnings || []).map((text) => h("p", { class: "notice small" }, "! ", text)),
    file.established.length > 0 && h("p", { class: "small muted" }, "Established on the way: ", file.established.join("; ")));
  const sections = [properties];
  for (const result of file.results) if (result.trace) {
    const explorer = Trace(result.trace, { source, actions: extra?.actions ? (i) => extra.actions(result, i) : null });
    sections.push(h("section", { class: "card", "data-trace": result.property }, h("div", { class: "row" }, h("h2", {}, result.trace.kind === "cti" ? "Why " : "How ", h("span", { class: "mono" }, result.property), result.trace.kind === "cti" ? " is not inductive" : " is violated"), h("span", { class: "right small muted" }, plural(result.trace.steps.length, "step"), result.itf && [" · ", h("button", { type: "button", onclick: () => download(`${result.property}.itf.json`, result.itf) }, "save the trace")])), explorer.element));
  } else if (result.text) sections.push(h("section", { class: "card" }, h("h2", {}, result.property), h("pre", { class: "formula" }, result.text)));
  for (const proof of file.proofs) sections.push(proofView(proof, goTo));
  if (file.story.length) sections.push(h("section", { class: "card" }, h("details", {}, h("summary", {}, "How this was found"), h("table", {}, h("tbody", {}, file.story.map((event) => h("tr", {}, h("td", { class: "muted" }, `${event.seconds.toFixed(1)} s`), h("td", { class: "mono" }, event.method), h("td", {}, event.event), h("td", {}, event.text))))))));
  if (view) sections.push(h("section", { class: "card" }, h("details", { open: file.results.some((result) => result.trace) ? "" : null }, h("summary", {}, "The protocol"), view.element)));
  return sections;
}
function proofView(proof, goTo) {
  const byTransition = new Map();
  for (const lemma of proof.lemmas) for (const transition of lemma.needed_by.length ? lemma.needed_by : ["not named as needed by a transition"]) byTransition.set(transition, [...(byTransition.get(transition) || []), lemma]);
  const one = (lemma, where) => h("div", { class: "lemma" }, h("div", { class: "row" }, h("strong", { class: "mono" }, lemma.name), where && lemma.needed_by.length > 0 && h("span", { class: "small muted" }, "needed by ", lemma.needed_by.slice(0, 6).join(", "), lemma.needed_by.length > 6 && ` and ${lemma.needed_by.length - 6} more`)), h("pre", { class: "formula" }, lemma.formula));
  const grouped = () => [...byTransition].map(([transition, lemmas]) => h("details", { open: byTransition.size <= 6 ? "" : null }, h("summary", {}, h("span", { class: "mono" }, transition), " ", h("span", { class: "muted small" }, plural(lemmas.length, "invariant"))), lemmas.map((lemma) => one(lemma, false))));
  const certificate = () => [h("dl", { class: "facts" }, [["speaks of", proof.properties.join(", ")], ["obligations", `${proof.obligations}, each discharged by z3 and by cvc5`], ["protocol text", `sha256 ${proof.sha256}`], ["solvers", Object.entries(proof.solvers).map(([name, version]) => `${name} ${version}`).join(", ")], ["invariants", String(proof.invariants)], ["refutations", String(proof.refutations)]].map(([name, text]) => [h("dt", {}, name), h("dd", { class: name === "protocol text" ? "mono" : "" }, text)])),
    h("p", { class: "muted small" }, "The checker rebuilds every obligation from the protocol's text and the certificate, and shares no code with the method that found the proof."), proof.certificate && h("button", { type: "button", onclick: () => download("certificate.cert.json", JSON.stringify(proof.certificate, null, 1)) }, "save the certificate")].filter(Boolean);
  const all = () => proof.lemmas.length ? proof.lemmas.map((lemma) => one(lemma, true)) : [h("p", { class: "muted" }, "The property is inductive by itself; no further invariant is needed.")];
  const why = () => [h("pre", { class: "formula" }, proof.words.join("\n"))];
  const names = proof.words.length ? ["Why", "Certificate"] : proof.lemmas.length ? ["Invariants", "By transition", "Certificate"] : ["Invariants", "Certificate"];
  return h("section", { class: "card" }, h("h2", {}, "The proof of ", h("span", { class: "mono" }, proof.properties.join(", "))), tabs(names, (name) => ({ Why: why, Invariants: all, "By transition": grouped, Certificate: certificate })[name]()).element);
}
function download(name, text) {
  const link = h("a", { href: URL.createObjectURL(new Blob([text], { type: "application/json" })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
function reportView(data) {
  const body = h("main", { id: "main" });
  const worst = (file) => ["violated", "not-inductive", "unknown", "proved"].find((verdict) => file.results.some((result) => result.verdict === verdict)) || "unknown";
  const asExpected = (file) => file.results.every((result) => result.verdict === result.expected || (result.expected === "unknown" && result.verdict === "proved"));
  const counts = ["proved", "violated", "not-inductive", "unknown"].map((verdict) => [verdict, data.files.flatMap((file) => file.results).filter((result) => result.verdict === verdict).length]).filter(([, count]) => count);
  const surprises = data.files.filter((file) => !asExpected(file)).length;
  document.body.append(h("a", { class: "skip", href: "#main" }, "to the content"), h("header", { class: "top" }, h("span", { class: "brand" }, logo(), "Quorate"), counts.map(([verdict, count]) => badge(verdict, `${count} ${verdict}`)), h("span", { class: "muted small" }, surprises ? `${plural(surprises, "file")} not as expected` : "everything as expected"), h("span", { class: "grow" }), h("span", { class: "small faint" }, `quorate ${data.version}`), themeButton()), body);
  const detail = h("div", { id: "file", class: "detail", tabindex: "-1" });
  detail.style.display = "grid"; detail.style.gap = "1.1rem"; detail.style.minWidth = "0";
  const show = (i, focus) => {
    detail.replaceChildren(...fileView(data.files[i]));
    for (const row of body.querySelectorAll("table.files tbody tr")) row.setAttribute("aria-current", String(Number(row.dataset.file) === i));
    if (focus) { detail.focus(); detail.scrollIntoView({ block: "start" }); }
  };
  if (data.files.length > 1) {
    const rows = data.files.map((file, i) => h("tr", { "data-file": i, tabindex: "0", onclick: () => show(i, true), onkeydown: (event) => { if (event.key === "Enter") show(i, true); } }, h("td", {}, badge(worst(file))), h("td", { class: "mono" }, file.path), h("td", { class: "wide muted small" }, [...new Set(file.results.map((result) => result.method))].join(", ")), h("td", { class: "wide" }, asExpected(file) ? h("span", { class: "small faint" }, "as expected") : h("span", { class: "badge violated" }, "not as expected")), h("td", { class: "muted small" }, `${file.seconds.toFixed(1)} s`)));
    const filter = h("input", { type: "search", placeholder: "filter files", "aria-label": "filter files", oninput: (event) => rows.forEach((row, i) => row.classList.toggle("hidden", !(data.files[i].path + " " + worst(data.files[i]) + (asExpected(data.files[i]) ? "" : " not as expected")).toLowerCase().includes(event.target.value.toLowerCase()))) });
    body.append(h("section", { class: "card" }, h("div", { class: "toolbar" }, h("h2", {}, plural(data.files.length, "protocol")), filter), h("div", { class: "scroll" }, h("table", { class: "files" }, h("tbody", {}, rows)))));
  }
  body.append(detail);
  show(Math.max(0, data.files.findIndex((file) => !asExpected(file) || file.results.some((result) => result.trace))));
}
