// The cards of the models. A card stays where it is while its figures change, so that focus and selection stay, too.

import { byId, count, duration, el, plural, say, shape, show } from "./dom.js";

const kinds = { READY: "good", LOADING: "warn", UNLOADING: "warn", UNAVAILABLE: "bad" };

const cards = new Map(); // by the name of the model

// tensors makes the table of inputs and outputs.
function tensors(name, metadata) {
  const row = (what, t) => el("tr", {}, el("td", { class: "soft" }, what),
    el("th", { scope: "row" }, el("bdi", {}, String(t.name))), el("td", {}, String(t.datatype)),
    el("td", {}, shape(t.shape)));
  const head = ["", "Name", "Datatype", "Shape"].map((title) => (title === ""
    ? el("th", { scope: "col" }, el("span", { class: "hidden" }, "Direction")) : el("th", { scope: "col" }, title)));
  return el("table", { "aria-label": `Inputs and outputs of ${name}` }, el("thead", {}, el("tr", {}, ...head)),
    el("tbody", {}, ...(metadata.inputs ?? []).map((t) => row("in", t)),
      ...(metadata.outputs ?? []).map((t) => row("out", t))));
}

// card makes the card of a model. choose is called when the user wants to send the model a request.
function card(name, choose) {
  const figure = (title) => {
    const value = el("dd", {}, "–");
    return { value, box: el("div", {}, el("dt", {}, title), value) };
  };
  const c = {
    state: el("span", { class: "pill" }),
    use: el("button", { type: "button", class: "small", "aria-label": `Send a request to ${name}` }, "Try it"),
    reason: el("p", { class: "notice" }),
    facts: el("p", { class: "facts soft" }),
    tensors: el("div", { class: "scroll" }),
    waiting: figure("Waiting"), running: figure("Running"),
    p50: figure("Latency p50"), p90: figure("p90"), p99: figure("p99"),
    fill: el("span", {}),
    metadata: undefined, // its JSON
  };
  c.bar = el("div", { class: "bar", role: "meter", "aria-label": `Queue of ${name}`, "aria-valuemin": "0" }, c.fill);
  c.use.addEventListener("click", () => choose(name));
  c.figures = el("dl", { class: "figures" }, c.waiting.box, c.running.box, c.p50.box, c.p90.box, c.p99.box);
  c.load = el("div", { class: "load" }, c.figures, c.bar);
  const article = el("article", { class: "card", "aria-label": `Model ${name}` },
    el("div", { class: "line" }, el("h3", {}, el("bdi", {}, name)), c.state, c.use),
    c.reason, c.facts, c.tensors, c.load);
  c.item = el("li", {}, article);
  return c;
}

// facts describes where and how a model runs.
function facts(m) {
  const list = [];
  const devices = Array.isArray(m.devices) ? m.devices : [];
  if (devices.length > 0) list.push(devices.join(", "));
  if (m.instances > 0) {
    list.push(plural(m.instances, "instance") + (devices.length > 1 ? " on each device" : ""));
  }
  if (devices.length > 0) list.push(m.max_batch > 0 ? `batches up to ${count(m.max_batch)}` : "no batches");
  if (m.metadata?.platform) list.push(m.metadata.platform);
  if (m.file) list.push(m.file);
  return list;
}

function update(c, m) {
  const kind = kinds[m.state] ?? "none";
  say(c.state, m.state || "unknown");
  c.state.dataset.kind = kind;
  say(c.reason, m.reason ?? "");
  c.reason.dataset.kind = kind === "bad" ? "bad" : "warn";
  show(c.reason, Boolean(m.reason));

  const list = facts(m);
  show(c.facts, list.length > 0);
  if (c.facts.textContent !== list.join("")) c.facts.replaceChildren(...list.map((f) => el("bdi", {}, f)));

  const metadata = JSON.stringify(m.metadata);
  if (metadata !== c.metadata || !c.tensors.isConnected) {
    c.metadata = metadata;
    c.tensors.replaceChildren(...(m.metadata ? [tensors(m.name, m.metadata)] : []));
  }
  show(c.tensors, Boolean(m.metadata));
  show(c.use, Boolean(m.metadata));

  const capacity = m.capacity > 0 ? m.capacity : 0;
  const queue = m.queue > 0 ? m.queue : 0;
  show(c.load, Boolean(m.metadata) || capacity > 0);
  say(c.waiting.value, capacity > 0 ? `${count(queue)} of ${count(capacity)}` : count(queue));
  say(c.running.value, count(m.running > 0 ? m.running : 0));
  for (const p of ["p50", "p90", "p99"]) say(c[p].value, duration(m.latency?.[`${p}_us`]));
  show(c.bar, capacity > 0);
  const share = capacity > 0 ? Math.min(1, queue / capacity) : 0;
  c.bar.setAttribute("aria-valuemax", capacity);
  c.bar.setAttribute("aria-valuenow", Math.min(queue, capacity));
  c.bar.setAttribute("aria-valuetext", `${plural(queue, "request")} waiting, ${count(capacity)} at most`);
  c.bar.dataset.kind = share >= 0.9 ? "bad" : share >= 0.5 ? "warn" : "good";
  c.fill.style.width = `${share * 100}%`;
}

// filter shows the models whose names have all words of the filter.
function filter() {
  const words = byId("filter").value.toLowerCase().split(/\s+/);
  let shown = 0;
  for (const [name, c] of cards) {
    const has = words.every((w) => name.toLowerCase().includes(w));
    show(c.item, has);
    if (has) shown++;
  }
  show(byId("empty"), shown === 0);
  say(byId("empty"), cards.size === 0 ? "The server has no models." : "No model has such a name.");
}
byId("filter").addEventListener("input", filter);

const many = 6; // models from which a filter helps

// showModels shows the models of a status.
export function showModels(models, choose) {
  const names = new Set(models.map((m) => m.name));
  for (const [name, c] of cards) {
    if (names.has(name)) continue;
    c.item.remove();
    cards.delete(name);
  }
  const list = byId("cards");
  models.forEach((m, i) => {
    let c = cards.get(m.name);
    if (!c) cards.set(m.name, c = card(m.name, choose));
    update(c, m);
    if (list.children[i] !== c.item) list.insertBefore(c.item, list.children[i] ?? null);
  });
  show(byId("filter-field"), cards.size >= many || byId("filter").value !== "");
  filter();
}
