// Expressions over a state: first-order formulas and terms as Ivy and mypyvy write them, parsed and evaluated on tables.
// Nothing here runs text as code: an expression becomes a tree, and the tree is evaluated.
"use strict";
const Expression = (() => {
  const TOKEN = /\s*(<->|->|~=|!=|[()&|=~!,.:]|[A-Za-z_][\w.]*|\d+)/y;
  const LIMIT = 2_000_000;

  function tokens(text) {
    const found = [];
    TOKEN.lastIndex = 0;
    while (text.slice(TOKEN.lastIndex).trim()) {
      const at = TOKEN.lastIndex, match = TOKEN.exec(text);
      if (!match) throw new Error(`cannot read "${text.slice(at, at + 12).trim()}"`);
      found.push(match[1].endsWith(".") && match[1] !== "." ? match[1].slice(0, -1) : match[1]);
      if (match[1].endsWith(".") && match[1] !== ".") found.push(".");
    }
    return found;
  }

  // A tree: {op, parts}, {call, parts}, or {bind, variables, body}.
  function parse(text) {
    const list = tokens(text);
    let place = 0;
    const peek = () => list[place];
    const take = (wanted) => {
      if (wanted && list[place] !== wanted) throw new Error(`expected "${wanted}"${list[place] ? ` before "${list[place]}"` : " at the end"}`);
      return list[place++];
    };
    const name = () => {
      if (!/^[A-Za-z_0-9]/.test(peek() || "")) throw new Error(`expected a name${peek() ? ` before "${peek()}"` : " at the end"}`);
      return take();
    };
    const chain = (next, ops) => () => {
      let left = next();
      while (ops.includes(peek())) { const op = take(); left = { op, parts: [left, next()] }; }
      return left;
    };
    function atom() {
      const word = peek();
      if (word === "~" || word === "!") { take(); return { op: "not", parts: [unary()] }; }
      if (word === "(") { take(); const inner = formula(); take(")"); return inner; }
      const called = name(), parts = [];
      if (peek() === "(") {
        do { take(); parts.push(formula()); } while (peek() === ",");
        take(")");
      }
      return { call: called, parts };
    }
    function unary() {
      if (peek() === "forall" || peek() === "exists") {
        const bind = take(), variables = [];
        do {
          if (variables.length) take(",");
          const variable = name();
          let sort = null;
          if (peek() === ":") { take(); sort = name(); }
          variables.push({ name: variable, sort });
        } while (peek() === ",");
        take(".");
        return { bind, variables, body: formula() };
      }
      return atom();
    }
    const equality = chain(unary, ["=", "~=", "!="]);
    const both = chain(equality, ["&"]);
    const either = chain(both, ["|"]);
    function implied() {
      const left = either();
      if (peek() === "->") { take(); return { op: "->", parts: [left, implied()] }; }
      return left;
    }
    function formula() {
      let left = implied();
      while (peek() === "<->") { take(); left = { op: "<->", parts: [left, implied()] }; }
      return left;
    }
    const tree = formula();
    if (place < list.length) throw new Error(`"${peek()}" was not expected here`);
    return tree;
  }

  // What names mean in a trace: symbols with their argument sorts, and elements with their sorts.
  function scopeOf(trace) {
    const symbols = new Map(trace.symbols.map((symbol) => [symbol.name, symbol]));
    const elements = new Map();
    for (const sort of trace.universe) for (const element of sort.elements) elements.set(element, sort.name);
    return { symbols, elements, universe: new Map(trace.universe.map((sort) => [sort.name, sort.elements])) };
  }

  function sortOf(tree, scope, bound) {
    if (!("call" in tree)) return "bool";
    if (bound.has(tree.call)) return bound.get(tree.call).sort;
    if (scope.symbols.has(tree.call)) return scope.symbols.get(tree.call).sort;
    return scope.elements.get(tree.call) || null;
  }

  // Gives every variable its sort: as written, or as the places where it stands demand.
  function resolve(tree, scope, bound, free) {
    if (tree.bind) {
      const inner = new Map(bound);
      for (const variable of tree.variables) inner.set(variable.name, variable);
      resolve(tree.body, scope, inner, free);
      resolve(tree.body, scope, inner, free);
      for (const variable of tree.variables) {
        if (!variable.sort) throw new Error(`of which sort is ${variable.name}? write ${variable.name}:sort`);
        if (!scope.universe.has(variable.sort)) throw new Error(`there is no sort ${variable.sort}`);
      }
      return;
    }
    if ("call" in tree && !bound.has(tree.call) && !scope.symbols.has(tree.call) && !scope.elements.has(tree.call) && !["true", "false"].includes(tree.call) && !/^\d+$/.test(tree.call)) {
      if (!/^[A-Z]/.test(tree.call)) throw new Error(`there is no "${tree.call}" in this protocol`);
      if (!free.has(tree.call)) free.set(tree.call, { name: tree.call, sort: null });
      bound.set(tree.call, free.get(tree.call));
    }
    const symbol = "call" in tree ? scope.symbols.get(tree.call) : null;
    if (symbol && !bound.has(tree.call) && symbol.arguments.length !== tree.parts.length)
      throw new Error(`${tree.call} takes ${symbol.arguments.length} argument${symbol.arguments.length === 1 ? "" : "s"}`);
    tree.parts.forEach((part, i) => {
      resolve(part, scope, bound, free);
      const variable = "call" in part ? bound.get(part.call) : null;
      if (variable && !variable.sort && symbol) variable.sort = symbol.arguments[i];
      if (variable && !variable.sort && ["=", "~=", "!="].includes(tree.op)) variable.sort = sortOf(tree.parts[1 - i], scope, bound);
    });
  }

  function evaluate(tree, table, scope, values, count) {
    if (++count.steps > LIMIT) throw new Error("this takes too long to evaluate here");
    const part = (i) => evaluate(tree.parts[i], table, scope, values, count);
    if (tree.bind) {
      const all = tree.bind === "forall";
      const go = (i) => {
        if (i === tree.variables.length) return Boolean(evaluate(tree.body, table, scope, values, count));
        const { name, sort } = tree.variables[i], before = values.get(name);
        let result = all;
        for (const element of scope.universe.get(sort)) {
          values.set(name, element);
          if (go(i + 1) !== all) { result = !all; break; }
        }
        values.set(name, before);
        return result;
      };
      return go(0);
    }
    switch (tree.op) {
      case "not": return !part(0);
      case "&": return part(0) && part(1);
      case "|": return part(0) || part(1);
      case "->": return !part(0) || part(1);
      case "<->": return Boolean(part(0)) === Boolean(part(1));
      case "=": return part(0) === part(1);
      case "~=": case "!=": return part(0) !== part(1);
    }
    if (tree.call === "true" || tree.call === "false") return tree.call === "true";
    if (values.has(tree.call) && values.get(tree.call) !== undefined) return values.get(tree.call);
    if (scope.symbols.has(tree.call)) return table(tree.call, tree.parts.map((_, i) => part(i)));
    return tree.call;
  }

  // The value of an expression in every state of a trace; a free variable, in capitals, stands for every element.
  function values(text, trace, lookup) {
    let tree = parse(text);
    const scope = scopeOf(trace), free = new Map();
    for (let i = 0; i < 2; i++) resolve(tree, scope, new Map(), free);
    if (free.size) {
      tree = { bind: "forall", variables: [...free.values()], body: tree };
      resolve(tree, scope, new Map(), new Map());
    }
    return trace.states.map((_, i) => evaluate(tree, (name, args) => lookup(i, name, args), scope, new Map(), { steps: 0 }));
  }
  return { parse, values };
})();
