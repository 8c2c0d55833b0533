// Draws what is interactive on a page: tree, list of candidates, details. Texts only ever become text nodes.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const $ = (id) => document.getElementById(id);
  const el = (tag, attributes, ...children) => {
    const e = document.createElement(tag);
    for (const [k, v] of Object.entries(attributes || {})) {
      if (v === null || v === undefined || v === false) continue;
      if (k.startsWith("on")) e.addEventListener(k.slice(2), v);
      else if (k === "class") e.className = v;
      else e.setAttribute(k, v);
    }
    e.append(...children.flat(Infinity).filter((c) => c !== null && c !== undefined && c !== ""));
    return e;
  };
  const number = (v) => {
    const s = Math.abs(v);
    if (!Number.isFinite(v)) return "–";
    if (s >= 10000 || (s < 0.001 && s > 0)) return v.toExponential(2);
    return v.toFixed(s >= 100 ? 0 : s >= 10 ? 1 : s >= 1 ? 2 : 3);
  };
  const unit = (u) => (u === "us" ? "µs" : u);
  const figure = (f) => `${number(f.value)} ${unit(f.unit)}${f.ci ? ` [${number(f.ci[0])}, ${number(f.ci[1])}]` : ""} ${f.kind} on ${f.on}`;
  const states = { b: "faster than its parent", p: "right, not faster", f: "failed", o: "not tried", a: "in work" };
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;

  // --- model ---------------------------------------------------------------------------------------------------
  let nodes = [], byId = new Map(), chosen = null, shownOpen = false;
  const read = (d) => {
    nodes = d.nodes.map(([id, parent, title, state, time, gain, best], i) => ({ i, id, parent, title: d.strings[title], state, time, gain, best: !!best, children: [] }));
    byId = new Map(nodes.map((n) => [n.id, n]));
    for (const n of nodes) if (n.parent !== null) nodes[n.parent].children.push(n);
  };
  read(data);
  const time = (n) => (n.time === null ? "" : `${number(n.time)} ${data.unit || ""}`);

  // --- a list of any length: only rows in view exist ------------------------------------------------------------
  const ROW = 30;
  class List {
    constructor(box, draw) {
      Object.assign(this, { box, draw, count: 0, rows: el("div", { class: "rows", role: "presentation" }), drawn: new Map(), offset: 0 });
      box.append(this.rows);
      box.addEventListener("scroll", () => this.show(), { passive: true });
      new ResizeObserver(() => this.show()).observe(box);
    }
    set(count) {
      this.count = count;
      this.rows.style.height = `${count * ROW}px`;
      for (const r of this.drawn.values()) r.remove();
      this.drawn.clear();
      this.show();
    }
    show() {
      const first = Math.max(0, Math.floor(this.box.scrollTop / ROW) - 8);
      const last = Math.min(this.count, Math.ceil((this.box.scrollTop + this.box.clientHeight) / ROW) + 8);
      for (const [i, r] of this.drawn) if ((i < first || i >= last) && !r.contains(document.activeElement)) { r.remove(); this.drawn.delete(i); }
      for (let i = first; i < last; i++) {
        if (this.drawn.has(i)) continue;
        const r = this.draw(i);
        r.style.top = `${i * ROW}px`;
        this.drawn.set(i, r);
        this.rows.append(r);
      }
    }
    reveal(i) {
      const top = i * ROW;
      if (top < this.box.scrollTop) this.box.scrollTop = top;
      else if (top + 2 * ROW > this.box.scrollTop + this.box.clientHeight) this.box.scrollTop = top + 2 * ROW - this.box.clientHeight;
      this.show();
      return this.drawn.get(i);
    }
  }

  // --- tree as a map --------------------------------------------------------------------------------------------
  const COLUMN = 270, LINE = 34;
  const map = $("map");
  const canvas = map && el("canvas", { tabindex: "0", role: "application", "aria-label": "Search tree. Arrow keys go from node to node.", "aria-describedby": "spoken" });
  const spoken = el("div", { class: "unseen", id: "spoken", role: "status" });
  let placed = [], hidden = new Map(), view = { x: 20, y: 20, k: 1 }, extent = { w: 1, h: 1 }, colors = {}, due = false;
  const visible = (n) => shownOpen || n.state !== "o" || n.parent === null || n.best;
  const place = () => {
    placed = []; hidden = new Map();
    let row = 0, depthMost = 0;
    // Without recursion: a tree may be as deep as it likes.
    const stack = nodes.length ? [[nodes[0], 0, false]] : [];
    while (stack.length) {
      const [n, depth, done] = stack.pop();
      const children = n.children.filter(visible);
      if (done) {
        n.row = children.length ? (children[0].row + children[children.length - 1].row) / 2 : row++;
        continue;
      }
      n.depth = depth; depthMost = Math.max(depthMost, depth);
      hidden.set(n, n.children.length - children.length);
      placed.push(n);
      stack.push([n, depth, true]);
      for (let i = children.length - 1; i >= 0; i--) stack.push([children[i], depth + 1, false]);
    }
    for (const n of placed) { n.x = n.depth * COLUMN; n.y = n.row * LINE; n.shown = n.children.filter(visible); }
    extent = { w: depthMost * COLUMN + 240, h: Math.max(row, 1) * LINE };
  };
  const theme = () => {
    const s = getComputedStyle(document.documentElement);
    for (const name of ["ink", "soft", "rule", "accent", "bad", "card", "mark"]) colors[name] = s.getPropertyValue(`--${name}`).trim();
  };
  const fit = () => {
    const w = map.clientWidth, h = map.clientHeight;
    view.k = Math.min(1, (w - 40) / extent.w, (h - 40) / extent.h);
    view.x = 20; view.y = (h - extent.h * view.k) / 2 + LINE * view.k / 2;
    redraw();
  };
  const center = (n, k) => {
    view.k = Math.max(view.k, k || 0);
    view.x = map.clientWidth * 0.4 - n.x * view.k;
    view.y = map.clientHeight / 2 - n.y * view.k;
    redraw();
  };
  const zoom = (factor, px = map.clientWidth / 2, py = map.clientHeight / 2) => {
    const k = Math.min(3, Math.max(0.02, view.k * factor));
    view.x = px - (px - view.x) * (k / view.k);
    view.y = py - (py - view.y) * (k / view.k);
    view.k = k;
    redraw();
  };
  const redraw = () => { if (!due) { due = true; requestAnimationFrame(draw); } };
  const clip = (g, text, width) => {
    if (g.measureText(text).width <= width) return text;
    let low = 0, high = text.length;
    while (low < high) { const m = (low + high + 1) >> 1; if (g.measureText(text.slice(0, m) + "…").width <= width) low = m; else high = m - 1; }
    return text.slice(0, low) + "…";
  };
  const draw = () => {
    due = false;
    const ratio = window.devicePixelRatio || 1, w = map.clientWidth, h = map.clientHeight;
    if (!w || !h) return;
    if (canvas.width !== Math.round(w * ratio) || canvas.height !== Math.round(h * ratio)) { canvas.width = Math.round(w * ratio); canvas.height = Math.round(h * ratio); }
    const g = canvas.getContext("2d"), { x, y, k } = view;
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    g.clearRect(0, 0, w, h);
    g.translate(x, y);
    const left = (-x - 260 * k), right = w - x, top = -y - 20, bottom = h - y + 20;
    const inside = (n) => n.x * k >= left && n.x * k <= right && n.y * k >= top && n.y * k <= bottom;
    // Edges: the plain ones in one stroke, then the way to the best.
    for (const best of [false, true]) {
      g.beginPath();
      for (const n of placed) {
        for (const c of n.shown) {
          if ((n.best && c.best) !== best) continue;
          const y1 = n.y * k, y2 = c.y * k;
          if (Math.max(y1, y2) < top || Math.min(y1, y2) > bottom || c.x * k < left || n.x * k > right) continue;
          const x1 = n.x * k, x2 = c.x * k, bend = x2 - Math.min(28, COLUMN * 0.4) * k;
          g.moveTo(x1, y1);
          if (k < 0.2) g.lineTo(x2, y2);
          else { g.lineTo(bend - 20 * k, y1); g.bezierCurveTo(bend, y1, bend - 12 * k, y2, x2, y2); }
        }
      }
      g.strokeStyle = best ? colors.ink : colors.soft;
      g.globalAlpha = best ? 1 : 0.4;
      g.lineWidth = best ? 2 : Math.min(1.25, Math.max(0.5, 1.25 * k + 0.3));
      g.stroke();
      g.globalAlpha = 1;
    }
    const r = Math.max(1.4, Math.min(5.5, 5.5 * Math.sqrt(k)));
    const labels = k > 0.5;
    g.font = `${Math.round(12 * Math.min(1.2, Math.max(0.85, k)))}px ${getComputedStyle(document.body).fontFamily}`;
    g.textBaseline = "middle";
    for (const n of placed) {
      if (!inside(n)) continue;
      const px = n.x * k, py = n.y * k;
      if (n === chosen) { g.beginPath(); g.arc(px, py, r + 5, 0, 7); g.fillStyle = colors.mark; g.fill(); g.strokeStyle = colors.accent; g.lineWidth = 1.5; g.stroke(); }
      g.lineWidth = 1.75;
      if (n.state === "f") {
        g.strokeStyle = colors.bad;
        g.beginPath(); g.moveTo(px - r * .8, py - r * .8); g.lineTo(px + r * .8, py + r * .8); g.moveTo(px + r * .8, py - r * .8); g.lineTo(px - r * .8, py + r * .8); g.stroke();
      } else {
        g.beginPath(); g.arc(px, py, n.state === "o" ? r * .7 : r, 0, 7);
        g.fillStyle = n.state === "b" ? colors.accent : colors.card;
        g.fill();
        g.strokeStyle = n.state === "o" ? colors.soft : n.state === "a" ? colors.ink : colors.accent;
        if (n.state === "a") g.setLineDash([2, 2]);
        g.stroke(); g.setLineDash([]);
      }
      if (!labels) continue;
      const room = (COLUMN - 46) * k, inner = n.shown.length > 0;
      const more = hidden.get(n) ? ` +${hidden.get(n)}` : "";
      const ty = inner ? py - 12 : py, tx = inner ? px + 1 : px + r + 6;
      const t = time(n), tw = t ? g.measureText(t + "  ").width : 0;
      g.fillStyle = n.best ? colors.ink : n.state === "o" ? colors.soft : colors.ink;
      const label = clip(g, n.title, Math.max(30, room - tw - (more ? 26 : 0)));
      g.fillText(label, tx, ty);
      g.fillStyle = colors.soft;
      g.fillText(`  ${t}${more}`, tx + g.measureText(label).width, ty);
    }
  };
  const at = (px, py) => {
    let found = null, near = 18 * 18;
    for (const n of placed) {
      const dx = px - view.x - n.x * view.k, dy = py - view.y - n.y * view.k;
      const d = dx * dx + dy * dy;
      if (d < near) { near = d; found = n; }
      else if (!found && view.k > 0.5 && dx > 0 && dx < (COLUMN - 46) * view.k && dy > (n.shown.length ? -18 : -9) && dy < (n.shown.length ? -4 : 9)) found = n;
    }
    return found;
  };
  const wire = () => {
    const pointers = new Map();
    let moved = 0, spread = 0;
    canvas.addEventListener("pointerdown", (e) => { canvas.setPointerCapture(e.pointerId); pointers.set(e.pointerId, e); moved = 0; spread = 0; });
    canvas.addEventListener("pointermove", (e) => {
      const last = pointers.get(e.pointerId);
      if (!last) return;
      pointers.set(e.pointerId, e);
      if (pointers.size === 1) {
        view.x += e.clientX - last.clientX; view.y += e.clientY - last.clientY;
        moved += Math.abs(e.clientX - last.clientX) + Math.abs(e.clientY - last.clientY);
        redraw();
      } else {
        const [a, b] = [...pointers.values()], now = Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY), box = canvas.getBoundingClientRect();
        if (spread) zoom(now / spread, (a.clientX + b.clientX) / 2 - box.left, (a.clientY + b.clientY) / 2 - box.top);
        spread = now; moved = 99;
      }
    });
    const up = (e) => {
      if (pointers.delete(e.pointerId) && moved < 5 && e.type === "pointerup") {
        const box = canvas.getBoundingClientRect(), n = at(e.clientX - box.left, e.clientY - box.top);
        if (n) choose(n);
      }
    };
    canvas.addEventListener("pointerup", up);
    canvas.addEventListener("pointercancel", up);
    canvas.addEventListener("wheel", (e) => {
      if (!e.ctrlKey && !e.metaKey) return;
      e.preventDefault();
      const box = canvas.getBoundingClientRect();
      zoom(Math.exp(-e.deltaY * 0.004), e.clientX - box.left, e.clientY - box.top);
    }, { passive: false });
    canvas.addEventListener("keydown", (e) => {
      const n = chosen || placed[0];
      if (!n) return;
      const siblings = n.parent === null ? [n] : nodes[n.parent].shown || [n], i = siblings.indexOf(n);
      const go = { ArrowLeft: () => n.parent !== null && nodes[n.parent], ArrowRight: () => n.shown[0], ArrowDown: () => siblings[i + 1], ArrowUp: () => siblings[i - 1], Home: () => placed[0] }[e.key];
      if (go) { const to = go(); if (to) { choose(to); center(to); } }
      else if (e.key === "+" || e.key === "=") zoom(1.3);
      else if (e.key === "-") zoom(1 / 1.3);
      else if (e.key === "0") fit();
      else if (e.key === "Enter") $("detail").focus();
      else return;
      e.preventDefault();
    });
    for (const b of document.querySelectorAll("[data-do]")) b.addEventListener("click", () => {
      const best = byId.get(data.best);
      ({ in: () => zoom(1.4), out: () => zoom(1 / 1.4), fit, best: () => { if (best) { choose(best); center(best, 0.9); } } })[b.dataset.do]();
    });
    $("show-open").addEventListener("change", (e) => { shownOpen = e.target.checked; place(); fit(); outline(); });
    $("show-outline").addEventListener("change", (e) => { $("outline").hidden = !e.target.checked; map.hidden = e.target.checked; if (e.target.checked) outline(); else redraw(); });
    new ResizeObserver(redraw).observe(map);
    const dark = matchMedia("(prefers-color-scheme: dark)");
    dark.addEventListener("change", () => { theme(); redraw(); });
  };

  // --- tree as a list, for those who would rather read ----------------------------------------------------------
  let outlineList = null;
  const outlineRow = (i) => {
    const n = placed[i];
    return el("div", { class: "row", role: "treeitem", id: `o-${n.id}`, tabindex: n === (chosen || placed[0]) ? "0" : "-1", "aria-level": n.depth + 1, "aria-setsize": placed.length, "aria-posinset": i + 1, "aria-selected": String(n === chosen), onclick: () => choose(n) },
      "\u00a0".repeat(n.depth * 3), n.title, el("span", { class: "time" }, [time(n), n.gain === null ? "" : ` ${number(n.gain)}×`, ` ${states[n.state]}`].join("")));
  };
  const outline = () => {
    const box = $("outline");
    if (!outlineList) {
      outlineList = new List(box, outlineRow);
      outlineList.rows.setAttribute("role", "tree");
      outlineList.rows.setAttribute("aria-label", "Search tree");
      box.addEventListener("keydown", (e) => {
        const i = placed.indexOf(chosen || placed[0]);
        const to = { ArrowDown: i + 1, ArrowUp: i - 1, Home: 0, End: placed.length - 1 }[e.key];
        if (to === undefined || !placed[to]) return;
        e.preventDefault();
        choose(placed[to]);
        const row = outlineList.reveal(to);
        if (row) row.focus();
      });
    }
    outlineList.set(placed.length);
  };

  // --- details of a node ----------------------------------------------------------------------------------------
  const cache = new Map();
  const detailOf = async (id) => {
    if (data.details && data.details[id]) return data.details[id];
    if (!data.remote) return null;
    const answer = await fetch(`${data.remote}/node/${id}.json`);
    return answer.ok ? answer.json() : null;
  };
  const bars = (entries, most, suffix) => el("div", { class: "bars" }, entries.map(([name, value, alt]) => {
    const bar = el("i", { class: alt ? "alt" : null });
    bar.style.width = `${Math.max(0, Math.min(100, (100 * value) / most))}%`;
    return [el("span", {}, name.replaceAll("_", " ")), bar, el("span", { class: "n" }, `${number(value)}${suffix}`)];
  }));
  const diff = (text) => el("pre", { class: "diff", tabindex: "0", role: "group", "aria-label": "Difference to the parent" }, text.split("\n").map((l) => {
    const kind = l.startsWith("+++") || l.startsWith("---") || l.startsWith("@@") ? "at" : l[0] === "+" ? "add" : l[0] === "-" ? "del" : null;
    return el("span", { class: kind }, l || " ");
  }));
  const pre = (label, text) => el("pre", { tabindex: "0", role: "group", "aria-label": label }, text);
  const pairs = (list) => el("dl", {}, list.filter(([, v]) => v !== null && v !== undefined && v !== "").map(([k, v]) => [el("dt", {}, k), el("dd", {}, v)]));
  const table = (heads, rows) => el("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": heads[0] }, el("table", {}, el("thead", {}, el("tr", {}, heads.map((h) => el("th", { scope: "col" }, h)))), el("tbody", {}, rows.map((r) => el("tr", {}, r.map((c) => el("td", {}, c)))))));
  const show = (d) => {
    const out = [el("h3", {}, d.title), el("p", { class: "quiet small" }, `${d.id} · ${d.standing}`)];
    if (d.rationale || d.description) out.push(el("h4", {}, "Hypothesis"), d.rationale ? el("p", {}, d.rationale) : "", d.description ? el("p", {}, d.description) : "");
    if (d.predicted !== null || d.gain !== null) {
      out.push(el("h4", {}, "Prediction and result"));
      const list = [];
      if (d.predicted !== null) list.push(["predicted", d.predicted, true]);
      if (d.gain !== null) list.push(["result", d.gain, false]);
      out.push(bars(list, Math.max(...list.map((l) => l[1]), 1), "×"));
      if (d.within_noise) out.push(el("p", { class: "quiet small" }, "The difference is within noise."));
    }
    if (d.difficulty !== null) out.push(pairs([["strategy", d.strategy], ["proposed by", d.by], ["rating", `${number(d.rating)} of 10`], ["confidence", `${Math.round(d.confidence * 100)}%`], ["difficulty", `${d.difficulty} of 5`]]));
    if (d.impacts.length) out.push(el("details", {}, el("summary", {}, "Expected impact"), pairs(d.impacts.map(([n, r, w]) => [n.replaceAll("_", " "), `${number(r)} of 10${w ? `: ${w}` : ""}`]))));
    if (d.notes) out.push(el("h4", {}, "Planner's notes"), el("p", {}, d.notes));
    const v = d.candidate && d.candidate.verdict;
    if (v && v.missing) out.push(el("h4", {}, "Verdict"), el("p", { class: "quiet" }, v.missing));
    else if (v) {
      out.push(el("h4", {}, "Verdict"), el("p", {}, el("span", { class: v.status === "passed" ? "tag good" : "tag bad" }, v.status.replaceAll("_", " ")), ` ${v.summary}`));
      if (v.time) out.push(el("p", {}, figure(v.time)));
      if (v.advice) out.push(el("p", { class: "quiet" }, v.advice));
      if (v.findings.length) out.push(el("ul", {}, v.findings.map((f) => el("li", { class: "mono" }, f))));
      if (v.workloads.length) out.push(el("details", {}, el("summary", {}, `Workloads (${v.workloads.length})`), table(["Workload", "Outcome", "Time", "Error"], v.workloads.map((w) => [w.label, w.status.replaceAll("_", " "), w.time ? `${number(w.time.value)} ${unit(w.time.unit)}` : "not timed", w.error === null ? "" : `${number(100 * w.error)}%`]))));
      const p = v.profile;
      if (p) {
        const terms = Object.entries(p.terms);
        out.push(el("h4", {}, `Profile: bound by ${p.bottleneck}`), terms.length ? bars(terms, Math.max(...terms.map((t) => t[1])), ` ${unit(p.time.unit)}`) : "", el("details", {}, el("summary", {}, "Counters and advice"), pairs(p.facts), pairs(Object.entries(p.bytes).map(([k, b]) => [`bytes, ${k}`, number(b)])), pairs(Object.entries(p.instructions).map(([k, b]) => [k.replaceAll("_", " "), number(b)])), p.advice.map((a) => el("p", { class: "quiet small" }, a))));
      }
    }
    if (d.candidate) out.push(pairs([["candidate", el("code", {}, d.candidate.id.slice(0, 8))], ["written by", d.candidate.by], ["tunables", Object.entries(d.candidate.values).map(([k, x]) => `${k} = ${x}`).join(", ")]]));
    if (d.candidate && data.remote) {
      const n = byId.get(d.id), parent = n && n.parent !== null ? nodes[n.parent] : null;
      const link = (other, words) => el("a", { href: `../../compare?a=${encodeURIComponent(`${data.run}:${other}`)}&b=${encodeURIComponent(`${data.run}:${d.candidate.id}`)}` }, words);
      out.push(el("p", { class: "small compare" }, "Compare with ", [parent && parent.time !== null ? link(parent.id, "its parent") : null, parent ? link("naive", "naive") : null, d.id !== data.best ? link("best", "the best") : null].filter(Boolean).flatMap((l, i) => (i ? [", ", l] : [l]))));
    }
    if (d.attempts.length) out.push(el("details", {}, el("summary", {}, `Attempts (${d.attempts.length})`), d.attempts.map((a) => el("p", { class: "small" }, `${a.step}: ${a.status.replaceAll("_", " ")}. ${a.summary}${a.time ? `; ${figure(a.time)}` : ""}${a.sweep ? `; ${a.sweep}` : ""}`))));
    out.push(el("h4", {}, "Difference to its parent"), d.diff.missing ? el("p", { class: "quiet" }, d.diff.missing) : diff(d.diff));
    for (const x of d.exchanges) out.push(el("details", {}, el("summary", {}, `${x.purpose} · ${x.model} · ${x.tokens[0]} tokens in, ${x.tokens[1]} out, ${number(x.seconds)} s`), x.error ? el("p", { class: "bad" }, x.error) : "", el("h4", {}, "Instructions"), pre("Instructions", x.system), el("h4", {}, "Prompt"), pre("Prompt", x.user), el("h4", {}, "Answer"), pre("Answer", x.answer)));
    return out;
  };
  const choose = async (n, quietly) => {
    chosen = n;
    redraw();
    for (const r of document.querySelectorAll("#trials .row, #outline .row")) {
      const on = r.dataset.of === n.id || r.id === `o-${n.id}`;
      r.classList.toggle("on", on);
      if (r.id) { r.setAttribute("aria-selected", String(on)); r.setAttribute("tabindex", on ? "0" : "-1"); }
    }
    if (!quietly) spoken.textContent = `${n.title}, ${states[n.state]}${n.time === null ? "" : `, ${time(n)}`}`;
    const box = $("detail");
    let d = null;
    try { d = await detailOf(n.id); } catch (error) { d = null; }
    if (chosen !== n) return;
    box.replaceChildren(...(d ? show(d) : [el("h3", {}, n.title), el("p", { class: "quiet" }, `${n.id} · ${states[n.state]}`), el("p", { class: "missing" }, data.remote ? "The dashboard did not answer; is it still running?" : `Left out to keep this file small. See it with: ksearch show ${data.run} --tree, or in ksearch ui.`)]).flat().filter((c) => c !== ""));
  };

  // --- candidates -----------------------------------------------------------------------------------------------
  // A trial: number, candidate, node, status, time, limiter, tunables.
  const columns = [["#", 0, "n"], ["time", 4, "n"], ["× naive", 4, "n"], ["status", 3], ["action", 2], ["bound by", 5], ["tunables", 6]];
  const nodeOf = (t) => nodes[t[2]];
  let order = [], by = 0, up = true, trialList = null;
  const cell = (t, c) => { const v = t[c]; return c === 2 ? nodeOf(t)?.title ?? "" : (c === 3 || c === 5) && v !== null ? data.strings[v] : v; };
  const sift = () => {
    const words = $("find").value.toLowerCase(), status = $("status").value;
    order = data.trials.filter((t) => (!status || cell(t, 3) === status) && (!words || `${cell(t, 2)} ${t[1]} ${nodeOf(t)?.id ?? ""} ${cell(t, 5) ?? ""} ${t[6]}`.toLowerCase().includes(words)));
    const [, c] = columns[by], turn = by === 2 ? -1 : 1;
    order.sort((a, b) => { const x = cell(a, c), y = cell(b, c); if (x === y) return a[0] - b[0]; if (x === null) return 1; if (y === null) return -1; return (x < y ? -1 : 1) * (up ? 1 : -1) * turn; });
    $("found").textContent = order.length === data.trials.length ? "" : `${order.length} of ${data.trials.length}`;
    const box = $("trials");
    box.querySelectorAll("[role=columnheader]").forEach((h, i) => h.setAttribute("aria-sort", i === by ? (up ? "ascending" : "descending") : "none"));
    box.setAttribute("aria-rowcount", order.length + 1);
    trialList.set(order.length);
  };
  const trialRow = (i) => {
    const t = order[i], node = nodeOf(t), status = cell(t, 3);
    const c = (text, cls) => el("div", { role: "cell", class: cls }, text === null ? "" : String(text));
    return el("div", { class: `row${chosen && chosen === node ? " on" : ""}`, role: "row", "aria-rowindex": i + 2, "data-of": node ? node.id : "" },
      c(t[0], "n"), c(t[4] === null ? null : `${number(t[4])} ${data.unit}`, "n"), c(t[4] === null || !data.naive ? null : `${number(data.naive / t[4])}×`, "n"),
      c(status.replaceAll("_", " "), status === "passed" ? null : "bad"),
      el("div", { role: "cell" }, node ? el("button", { class: "plain", type: "button", onclick: () => { choose(node); if (map && !map.hidden) { if (!visible(node)) { shownOpen = true; $("show-open").checked = true; place(); } center(node, 0.7); } $("tree").scrollIntoView({ behavior: still ? "auto" : "smooth" }); } }, node.title) : ""),
      c(cell(t, 5)), c(t[6]));
  };
  const trials = () => {
    const box = $("trials");
    if (!box) return;
    if (!trialList) {
      box.setAttribute("role", "table"); box.setAttribute("aria-label", "Candidates"); box.setAttribute("tabindex", "0");
      box.append(el("div", { class: "row head", role: "row", "aria-rowindex": 1 }, columns.map(([name, , cls], i) => el("div", { role: "columnheader", class: cls, "aria-sort": "none" }, el("button", { class: "plain", type: "button", onclick: () => { up = by === i ? !up : true; by = i; sift(); } }, name)))));
      box.firstChild.style.position = "sticky";
      trialList = new List(box, trialRow);
      trialList.rows.setAttribute("role", "rowgroup");
      $("find").addEventListener("input", sift);
      $("status").addEventListener("change", sift);
    }
    const select = $("status"), kept = select.value;
    const known = [...new Set(data.trials.map((t) => cell(t, 3)))].sort();
    select.replaceChildren(el("option", { value: "" }, "all"), ...known.map((s) => el("option", { value: s }, s.replaceAll("_", " "))));
    select.value = known.includes(kept) ? kept : "";
    sift();
  };

  // --- everything on the page that stands for a node ------------------------------------------------------------
  document.addEventListener("click", (e) => {
    const mark = e.target.closest("svg [data-node]");
    const n = mark && byId.get(mark.dataset.node);
    if (n) { choose(n); if (map) center(n, 0.7); $("tree").scrollIntoView({ behavior: still ? "auto" : "smooth" }); }
  });
  if (map) {
    map.append(canvas); document.body.append(spoken);
    theme(); place(); wire(); fit();
    const best = byId.get(data.best) || nodes[0];
    if (best) { if (view.k < 0.5) { view.k = 0.75; center(best); } choose(best, true); }
  }
  trials();

  // --- live: the dashboard says when there is more --------------------------------------------------------------
  window.ksearch = {
    data,
    update(fresh) {
      const keep = chosen && chosen.id;
      Object.assign(data, fresh);
      read(data);
      chosen = byId.get(keep) || null;
      place(); redraw(); trials();
      if (outlineList && !$("outline").hidden) outline();
      if (chosen) choose(chosen, true);
    },
  };
})();
