"use strict";
// The page's whole behaviour. All text reaches the page as text, never as markup; all walks are
// loops, and a row exists only while it is visible, so that long and deep trees open at once.
(() => {
  const ROWS_AT_FIRST = 80;
  const REVEALED_AT_ONCE = 200;
  const MAX_INDENT = 14;
  const PREVIEW_CHARS = 240;
  const MAX_SPLITS_LISTED = 20;
  const TYPING_PAUSE_MS = 120;
  const ARROWS = { NS: "N←S", SN: "S→N", NN: "N↔N" };
  const ROLES = { N: "nucleus", S: "satellite" };

  const byId = (id) => document.getElementById(id);
  const page = JSON.parse(byId("data").textContent);
  const outlines = [];
  const search = { pattern: null, relation: null, matches: [], position: -1 };

  function element(tag, className, text = "") {
    const made = document.createElement(tag);
    made.className = className;
    made.textContent = text;
    return made;
  }

  function leftToRight(made) {
    made.dir = "ltr";
    return made;
  }

  // A right-branching chain of nuclei in one relation becomes one node with many children, as in
  // the SVG drawing; `cuts` keeps the binary splits and their probabilities.
  function readNodes(tree) {
    const nodes = [];
    const pending = [{ start: 0, end: tree.edus.length, role: null, parent: null, isRight: false }];
    let nextSplit = 0;
    while (pending.length) {
      const { start, end, role, parent, isRight } = pending.pop();
      const isLeaf = end - start === 1;
      const [split, relation, nuclearity] = isLeaf ? [null, null, null] : tree.splits[nextSplit];
      const continuesGroup =
        isRight && nuclearity === "NN" && parent.nuclearity === "NN" && parent.relation === relation;
      let node = parent;
      if (!continuesGroup) {
        node = { start, end, role, parent, relation, nuclearity, children: [], cuts: [] };
        node.level = parent ? parent.level + 1 : 1;
        node.isOpen = false;
        node.row = null;
        nodes.push(node);
        if (parent) {
          parent.children.push(node);
          node.position = parent.children.length;
        }
      }
      if (isLeaf) continue;
      node.cuts.push({ after: split, score: tree.scores ? tree.scores[nextSplit] : null });
      nextSplit += 1;
      pending.push({ start: split, end, role: nuclearity[1], parent: node, isRight: true });
      pending.push({ start, end: split, role: nuclearity[0], parent: node, isRight: false });
    }
    return nodes;
  }

  function edus(node) {
    const last = node.end;
    return node.start + 1 === last ? `${last}` : `${node.start + 1}–${last}`;
  }

  function percent(probability) {
    return `${(100 * probability).toFixed(1)} %`;
  }

  function probabilities({ after, score }) {
    return `split after ${after}: ${percent(score[0])}, relation: ${percent(score[1])}`;
  }

  function describe(node) {
    const parts = [];
    if (node.nuclearity === "NN") parts.push(`${node.children.length} nuclei`);
    else for (const child of node.children) parts.push(`${ROLES[child.role]} ${edus(child)}`);
    if (node.cuts[0].score) {
      const leastSure = node.cuts.reduce((least, cut) =>
        Math.min(...cut.score) < Math.min(...least.score) ? cut : least,
      );
      parts.push((node.cuts.length > 1 ? "least sure: " : "") + probabilities(leastSure));
    }
    return parts.join(" · ");
  }

  function listProbabilities(node) {
    if (!node.cuts[0].score) return "";
    const lines = node.cuts.slice(0, MAX_SPLITS_LISTED).map(probabilities);
    if (node.cuts.length > MAX_SPLITS_LISTED) lines.push("…");
    return lines.join("\n");
  }

  function fillMarked(target, text) {
    target.textContent = "";
    let shown = 0;
    for (const found of search.pattern ? text.matchAll(search.pattern) : []) {
      target.append(text.slice(shown, found.index), element("mark", "", found[0]));
      shown = found.index + found[0].length;
    }
    target.append(text.slice(shown));
  }

  class Outline {
    constructor(tree, number) {
      this.tree = tree;
      this.nodes = readNodes(tree);
      this.kinds = [];
      for (let i = 0; i < tree.edus.length; i += 1) {
        this.kinds.push(tree.blocks[i] ? tree.blocks[i][1] : this.kinds[i - 1]);
      }
      this.levels = 0;
      for (const node of this.nodes) this.levels = Math.max(this.levels, node.level);
      this.section = document.createElement("section");
      this.section.dir = tree.rightToLeft ? "rtl" : "ltr";
      const heading = element("h2", "", "");
      heading.id = `heading-${number}`;
      const name = element("span", "", tree.name);
      name.dir = "auto";
      const size = tree.edus.length === 1 ? "1 EDU" : `${tree.edus.length} EDUs`;
      heading.append(name, " ", leftToRight(element("small", "", size)));
      this.list = element("div", "tree");
      this.list.setAttribute("role", "tree");
      this.list.setAttribute("aria-labelledby", heading.id);
      this.section.append(heading, this.list);
      this.active = this.nodes[0];
      this.list.addEventListener("click", (event) => this.onClick(event));
      this.list.addEventListener("keydown", (event) => this.onKey(event));
    }

    // As many levels as fit a screen or two, but never less than the root's children.
    levelsAtFirst() {
      const rows = new Array(this.levels + 1).fill(0);
      for (const node of this.nodes) rows[node.level] += 1;
      let shown = 1;
      let total = rows[1];
      while (shown < this.levels && (shown < 2 || total + rows[shown + 1] <= ROWS_AT_FIRST)) {
        shown += 1;
        total += rows[shown];
      }
      return shown;
    }

    showLevels(levels) {
      for (const node of this.nodes) node.isOpen = node.children.length > 0 && node.level < levels;
      while (this.active.level > levels) this.active = this.active.parent;
      this.draw();
    }

    draw() {
      for (const node of this.nodes) node.row = null;
      const root = this.nodes[0];
      const rows = document.createDocumentFragment();
      rows.append(this.makeRow(root), this.rowsBelow(root));
      this.list.replaceChildren(rows);
      this.active.row.tabIndex = 0;
    }

    rowsBelow(top) {
      const rows = document.createDocumentFragment();
      const pending = [];
      const addChildren = (node) => {
        if (!node.isOpen) return;
        for (let i = node.children.length - 1; i >= 0; i -= 1) pending.push(node.children[i]);
      };
      addChildren(top);
      while (pending.length) {
        const node = pending.pop();
        rows.append(this.makeRow(node));
        addChildren(node);
      }
      return rows;
    }

    makeRow(node) {
      const row = element("div", "row");
      row.tabIndex = node === this.active ? 0 : -1;
      row.setAttribute("role", "treeitem");
      row.setAttribute("aria-level", node.level);
      row.setAttribute("aria-posinset", node.parent ? node.position : 1);
      row.setAttribute("aria-setsize", node.parent ? node.parent.children.length : 1);
      const indent = node.level - 1;
      row.style.setProperty("--level", Math.min(indent, MAX_INDENT));
      const toggle = element("span", "toggle");
      toggle.setAttribute("aria-hidden", "true");
      row.append(toggle);
      if (indent > MAX_INDENT) row.append(element("span", "depth", `${indent}`));
      if (node.role) {
        const role = element("span", `role ${ROLES[node.role]}`, node.role);
        role.title = ROLES[node.role];
        row.append(role);
      }
      if (node.children.length) this.fillInner(row, node);
      else this.fillLeaf(row, node);
      row.classList.toggle("match", isMatch(this, node));
      row.rstNode = node;
      node.row = row;
      return row;
    }

    fillInner(row, node) {
      const relation = page.relations[node.relation];
      row.setAttribute("aria-expanded", node.isOpen);
      row.style.setProperty("--relation", relation.color);
      const chip = element("span", "chip");
      chip.dir = "auto";
      chip.title = listProbabilities(node);
      fillMarked(chip, relation.name);
      const arrow = leftToRight(element("span", "arrow", ARROWS[node.nuclearity]));
      // The first child is meant to stand where the line begins.
      if (this.tree.rightToLeft && node.nuclearity !== "NN") {
        arrow.textContent = ARROWS[node.nuclearity === "NS" ? "SN" : "NS"];
      }
      const preview = element("span", "preview");
      preview.dir = "auto";
      fillMarked(preview, this.preview(node));
      const range = leftToRight(element("span", "range", `[${edus(node)}]`));
      const details = leftToRight(element("span", "details", describe(node)));
      row.append(chip, arrow, range, preview, details);
    }

    fillLeaf(row, node) {
      const text = element("span", "text");
      text.dir = "auto";
      fillMarked(text, this.tree.edus[node.start]);
      row.append(element("span", "number", `${node.end}`));
      const block = this.tree.blocks[node.start];
      if (block) {
        const [mark, , title] = block;
        const sign = leftToRight(element("span", "block", mark));
        sign.title = title;
        row.append(sign);
        row.classList.add("opening");
      }
      if (this.kinds[node.start]) row.classList.add(this.kinds[node.start]);
      row.append(text);
    }

    preview(node) {
      let text = "";
      for (let i = node.start; i < node.end && text.length < PREVIEW_CHARS; i += 1) {
        text += (text && " ") + this.tree.edus[i];
      }
      return text;
    }

    // Only the active node is ever closed this way, so the rows that go never hold the focus.
    setOpen(node, isOpen) {
      if (!node.children.length || node.isOpen === isOpen) return;
      node.isOpen = isOpen;
      node.row.setAttribute("aria-expanded", isOpen);
      if (isOpen) {
        node.row.after(this.rowsBelow(node));
        return;
      }
      for (let row = node.row.nextSibling; row && row.rstNode.level > node.level; ) {
        const following = row.nextSibling;
        row.rstNode.row = null;
        row.remove();
        row = following;
      }
    }

    openAbove(node) {
      const above = [];
      for (let over = node.parent; over; over = over.parent) above.push(over);
      while (above.length) this.setOpen(above.pop(), true);
    }

    activate(node) {
      if (this.active.row) this.active.row.tabIndex = -1;
      this.active = node;
      node.row.tabIndex = 0;
    }

    focus(node) {
      this.activate(node);
      node.row.focus();
    }

    onClick(event) {
      const row = event.target.closest(".row");
      // Whoever marks some text to copy it does not want the row to close.
      if (!row || !window.getSelection().isCollapsed) return;
      this.focus(row.rstNode);
      this.setOpen(row.rstNode, !row.rstNode.isOpen);
    }

    onKey(event) {
      if (event.altKey || event.ctrlKey || event.metaKey) return;
      const node = this.active;
      const [inward, outward] = this.tree.rightToLeft
        ? ["ArrowLeft", "ArrowRight"]
        : ["ArrowRight", "ArrowLeft"];
      let target = null;
      if (event.key === "ArrowDown") target = node.row.nextSibling;
      else if (event.key === "ArrowUp") target = node.row.previousSibling;
      else if (event.key === "Home") target = this.list.firstChild;
      else if (event.key === "End") target = this.list.lastChild;
      else if (event.key === "Enter" || event.key === " ") this.setOpen(node, !node.isOpen);
      else if (event.key === inward && node.isOpen) target = node.children[0].row;
      else if (event.key === inward) this.setOpen(node, true);
      else if (event.key === outward && node.isOpen) this.setOpen(node, false);
      else if (event.key === outward) target = node.parent && node.parent.row;
      else return;
      event.preventDefault();
      if (target) this.focus(target.rstNode);
    }
  }

  function isMatch(outline, node) {
    if (search.relation !== null) return node.relation === search.relation;
    if (!search.pattern) return false;
    const text = node.children.length ? page.relations[node.relation].name : outline.tree.edus[node.start];
    return text.search(search.pattern) >= 0;
  }

  function find() {
    search.matches = [];
    search.position = -1;
    for (const outline of outlines) {
      for (const node of outline.nodes) {
        if (isMatch(outline, node)) search.matches.push({ outline, node });
      }
    }
    const isFinding = search.pattern !== null || search.relation !== null;
    byId("trees").classList.toggle("finding", isFinding);
    for (const { node } of search.matches.slice(0, REVEALED_AT_ONCE)) {
      for (let above = node.parent; above && !above.isRevealed; above = above.parent) {
        above.isOpen = true;
        above.isRevealed = true;
      }
    }
    for (const outline of outlines) {
      for (const node of outline.nodes) node.isRevealed = false;
      outline.draw();
    }
    byId("count").textContent = isFinding ? "no match" : "";
    if (search.matches.length) goTo(0);
  }

  function goTo(position) {
    const { matches } = search;
    if (!matches.length) return;
    for (const row of document.querySelectorAll(".row.here")) row.classList.remove("here");
    search.position = (position + matches.length) % matches.length;
    const { outline, node } = matches[search.position];
    outline.openAbove(node);
    outline.activate(node);
    node.row.classList.add("here");
    node.row.scrollIntoView({ block: "center" });
    byId("count").textContent = `${search.position + 1} of ${matches.length}`;
  }

  function searchFor(query) {
    const literal = query.trim().replace(/[.*+?^${}()|[\]\\\/]/g, "\\$&");
    search.pattern = literal ? new RegExp(literal, "giu") : null;
    search.relation = null;
    pressLegend();
    find();
  }

  function searchRelation(number) {
    search.relation = search.relation === number ? null : number;
    search.pattern = null;
    byId("query").value = "";
    pressLegend();
    find();
  }

  function pressLegend() {
    const buttons = byId("legend").children;
    for (let i = 0; i < buttons.length; i += 1) {
      buttons[i].setAttribute("aria-pressed", i === search.relation);
    }
  }

  function drawLegend() {
    const counts = page.relations.map(() => 0);
    for (const outline of outlines) {
      for (const node of outline.nodes) if (node.children.length) counts[node.relation] += 1;
    }
    page.relations.forEach(({ name, color }, number) => {
      const button = element("button", "", `${name} ${counts[number]}`);
      button.type = "button";
      button.dir = "auto";
      button.style.setProperty("--relation", color);
      button.addEventListener("click", () => searchRelation(number));
      byId("legend").append(button);
    });
    pressLegend();
  }

  function showLevels(levels) {
    byId("levels").value = levels;
    byId("levels-shown").textContent = `${levels}`;
    for (const outline of outlines) outline.showLevels(levels);
  }

  function listen() {
    let waiting = 0;
    byId("query").addEventListener("input", () => {
      clearTimeout(waiting);
      waiting = setTimeout(() => searchFor(byId("query").value), TYPING_PAUSE_MS);
    });
    byId("query").addEventListener("keydown", (event) => {
      if (event.key === "Enter") goTo(search.position + (event.shiftKey ? -1 : 1));
    });
    byId("next").addEventListener("click", () => goTo(search.position + 1));
    byId("previous").addEventListener("click", () => goTo(search.position - 1));
    byId("levels").addEventListener("input", () => showLevels(Number(byId("levels").value)));
    byId("expand").addEventListener("click", () => showLevels(Number(byId("levels").max)));
    byId("collapse").addEventListener("click", () => showLevels(1));
  }

  function start() {
    let mostLevels = 1;
    let shown = 1;
    page.trees.forEach((tree, number) => {
      const outline = new Outline(tree, number);
      const levels = page.levels || outline.levelsAtFirst();
      outlines.push(outline);
      outline.showLevels(levels);
      mostLevels = Math.max(mostLevels, outline.levels);
      shown = Math.max(shown, levels);
      byId("trees").append(outline.section);
    });
    byId("levels").max = mostLevels;
    byId("levels").value = shown;
    byId("levels-shown").textContent = byId("levels").value;
    drawLegend();
    listen();
  }

  start();
})();
