// The form that sends a request: the inputs of a model, with elements to begin with, and the answer.

import * as api from "./api.js";
import { byId, copy, count, duration, el, plural, say, shape, show, size } from "./dom.js";
import { countJSON, elements, fill, format, parseShape, summary } from "./tensor.js";

const editable = 2048; // elements that are written into the editor; of larger tensors it has only those that users type

let known = new Map(); // metadata by the name of the model
let inputs = []; // of the chosen model
let built = ""; // the model and the metadata of inputs, as JSON
let call = null; // the AbortController of the request on its way
let answer = null;

// field makes the editor of an input.
function field(t, index) {
  const id = `input-${index}`;
  const shapeField = el("input", { id: `${id}-shape`, type: "text", autocomplete: "off", spellcheck: "false",
    placeholder: "scalar", "aria-describedby": `${id}-hint` });
  const data = el("textarea", { id: `${id}-data`, rows: "4", autocomplete: "off", spellcheck: "false",
    "aria-describedby": `${id}-hint` });
  const hint = el("p", { id: `${id}-hint`, class: "hint soft" });
  const input = { name: String(t.name), datatype: String(t.datatype), kind: "zeros", made: "", shapeField, data, hint };
  const button = (kind) => {
    const b = el("button", { type: "button", class: "small", "aria-label": `${kind} for ${input.name}` }, kind);
    b.addEventListener("click", () => make(input, kind));
    return b;
  };
  const open = Array.isArray(t.shape) ? t.shape : [];
  shapeField.value = open.map((d) => (d < 0 ? 1 : d)).join(", ");
  shapeField.addEventListener("input", () => (data.value === input.made ? make(input, input.kind) : check(input)));
  data.addEventListener("input", () => check(input));
  input.box = el("fieldset", {},
    el("legend", {}, el("bdi", {}, input.name), " ",
      el("span", { class: "soft" }, `${input.datatype} · ${shape(t.shape)}`)),
    el("div", { class: "shape" }, el("label", { for: shapeField.id }, "Shape"), shapeField),
    el("div", { class: "field" },
      el("div", { class: "line" }, el("label", { for: data.id }, "Data as JSON"),
        el("span", { class: "fills", role: "group", "aria-label": `Fill ${input.name}` },
          button("zeros"), button("ones"), button("random"))), data), hint);
  make(input, "zeros");
  return input;
}

// make fills the editor of an input. The elements of a large tensor are made when they are sent.
function make(input, kind) {
  input.kind = kind;
  try {
    const dimensions = parseShape(input.shapeField.value);
    const n = elements(dimensions);
    const large = n > editable;
    input.made = large ? "" : fill(kind, input.datatype, dimensions);
    input.data.value = input.made;
    input.data.placeholder = large ? `${count(n)} elements: ${kind}. Type or paste a list to send others.` : "";
    input.data.rows = Math.min(8, Math.max(2, input.made.split("\n").length));
  } catch { /* check shows it */ }
  check(input);
}

// check describes an input below its editor. It throws nothing: what is wrong is marked.
function check(input) {
  let bad = "", text = "", fits = true;
  show(byId("command"), false); // it was of other data
  say(byId("note"), "");
  input.shapeField.removeAttribute("aria-invalid");
  input.data.removeAttribute("aria-invalid");
  try {
    const n = elements(parseShape(input.shapeField.value));
    text = plural(n, "element");
    try {
      const has = input.data.value.trim() === "" ? n : countJSON(input.data.value);
      fits = has === n;
      if (!fits) text = `The shape has ${plural(n, "element")}, the data ${count(has)}.`;
    } catch (e) {
      bad = `data: ${e.message}`;
      input.data.setAttribute("aria-invalid", "true");
    }
  } catch (e) {
    bad = `shape: ${e.message}`;
    input.shapeField.setAttribute("aria-invalid", "true");
  }
  say(input.hint, bad || text);
  input.hint.dataset.kind = bad ? "bad" : fits ? "" : "warn";
  return bad;
}

// read returns the body of the request. It throws an Error if an input cannot be sent; whether the data fits the shape
// is for the server to say.
function read() {
  return api.body(inputs.map((input) => {
    const bad = check(input);
    if (bad) {
      (input.shapeField.ariaInvalid ? input.shapeField : input.data).focus();
      throw new Error(`Input ${input.name}: ${bad}`);
    }
    const dimensions = parseShape(input.shapeField.value);
    const data = input.data.value.trim() || fill(input.kind, input.datatype, dimensions);
    return { name: input.name, datatype: input.datatype, shape: dimensions, data };
  }));
}

// attempt runs a step, and shows the sentence of its error.
function attempt(step) {
  show(byId("problem"), false);
  try {
    return step();
  } catch (e) {
    say(byId("problem"), e.message);
    show(byId("problem"), true);
    return undefined;
  }
}

// build makes the editors of the chosen model. If nothing has changed they stay as they are.
function build() {
  const name = byId("model").value;
  const metadata = known.get(name);
  const now = metadata ? JSON.stringify([name, metadata.inputs]) : "";
  byId("send").disabled = byId("curl").disabled = !metadata;
  if (now === built || !metadata) return;
  built = now;
  inputs = (metadata.inputs ?? []).map(field);
  byId("inputs").replaceChildren(...inputs.map((input) => input.box));
  show(byId("problem"), false);
}

// choose makes a model the one of the form.
export function choose(name) {
  const select = byId("model");
  select.value = name;
  build();
  byId("request").scrollIntoView({ block: "start" });
  select.focus({ preventScroll: true });
}

// setModels tells the form the models of a status. The chosen one stays, also while it is away.
export function setModels(models) {
  known = new Map(models.filter((m) => m.metadata).map((m) => [m.name, m.metadata]));
  const select = byId("model");
  const chosen = select.value;
  const names = [...known.keys()];
  if (chosen !== "" && !known.has(chosen)) names.unshift(chosen);
  const shown = [...select.options].map((o) => o.value);
  if (names.length > 0 && JSON.stringify(shown) !== JSON.stringify(names)) {
    select.replaceChildren(...names.map((name) => el("option", { value: name }, name)));
    select.value = chosen === "" ? names[0] : chosen;
  }
  select.disabled = names.length === 0;
  build();
  show(byId("forget"), api.hasToken());
}

// output makes the part of an answer for one tensor.
function output(t) {
  const dimensions = Array.isArray(t.shape) ? t.shape.map(Number) : [];
  const title = el("h4", {}, el("bdi", {}, String(t.name)), " ",
    el("span", { class: "soft" }, `${t.datatype} · ${shape(t.shape)}`));
  if (!Array.isArray(t.data)) {
    return el("div", {}, title, el("p", { class: "soft" }, "The answer has no data in JSON."));
  }
  const note = [plural(t.data.flat(Infinity).length, "element"), summary(t.data, dimensions)].filter((s) => s !== "");
  return el("div", {}, title, el("p", { class: "hint soft" }, note.join(" · ")),
    el("pre", { tabindex: "0", role: "region", "aria-label": `Output ${t.name}` }, format(t.data, dimensions)));
}

const longest = 20_000; // characters of a text that is shown as it is

// start is the start of a long text.
const start = (text) => (text.length > longest ? `${text.slice(0, longest)}…` : text);

function showResult() {
  show(byId("result"), true);
  byId("result").scrollIntoView({ block: "nearest" });
}

function showAnswer(a) {
  answer = a;
  const outcome = byId("outcome");
  outcome.className = "pill";
  outcome.dataset.kind = a.ok ? "good" : "bad";
  say(outcome, `HTTP ${a.status} · ${duration(a.milliseconds * 1000)} · ${size(a.text.length)}`);
  const parts = [];
  const list = a.value?.outputs;
  if (!a.ok) {
    parts.push(el("pre", { class: "error", tabindex: "0", role: "region", "aria-label": "Error" }, a.error));
    if (a.retryAfter) parts.push(el("p", { class: "hint soft" }, `Try again after ${a.retryAfter} s.`));
  } else if (Array.isArray(list)) {
    const version = a.value.model_version ? `, version ${a.value.model_version}` : "";
    parts.push(el("p", { class: "hint soft" }, "Model ", el("bdi", {}, String(a.value.model_name)), version),
      ...list.map(output));
  } else {
    parts.push(el("p", {}, "The answer has no outputs:"),
      el("pre", { tabindex: "0", role: "region", "aria-label": "Answer" }, start(a.text)));
  }
  byId("outputs").replaceChildren(...parts);
  show(byId("copy"), true);
  showResult();
}

// showFailure shows that there is no answer.
function showFailure(text) {
  answer = null;
  const outcome = byId("outcome");
  outcome.className = "pill";
  outcome.dataset.kind = "bad";
  say(outcome, "no answer");
  byId("outputs").replaceChildren(el("p", {}, text));
  show(byId("copy"), false);
  showResult();
}

async function send(wantToken) {
  const body = attempt(read);
  if (body === undefined || call) return;
  call = new AbortController();
  show(byId("cancel"), true);
  byId("send").setAttribute("aria-disabled", "true");
  say(byId("note"), "Waiting for the answer…");
  try {
    const a = await api.infer(byId("model").value, body, call.signal);
    showAnswer(a);
    if (a.status === 401) wantToken(a.error);
  } catch (e) {
    showFailure(e.name === "AbortError" ? "You cancelled the request." : `The server was not reached: ${e.message}`);
  }
  call = null;
  show(byId("cancel"), false);
  byId("send").removeAttribute("aria-disabled");
  say(byId("note"), "");
}

async function copyCurl() {
  const body = attempt(read);
  if (body === undefined) return;
  const command = api.curl(byId("model").value, body);
  const pre = byId("command");
  say(pre, start(command));
  show(pre, true);
  const copied = await copy(command);
  say(byId("note"), copied ? "Copied." : "The browser does not copy: select the command.");
}

// connect makes the form work. wantToken is called with the server's message when it wants a token.
export function connect(wantToken) {
  byId("model").addEventListener("change", build);
  byId("form").addEventListener("submit", (e) => {
    e.preventDefault();
    send(wantToken);
  });
  byId("form").addEventListener("keydown", (e) => {
    if (e.key === "Enter" && (e.ctrlKey || e.metaKey) && !byId("send").disabled) {
      e.preventDefault();
      send(wantToken);
    }
  });
  byId("cancel").addEventListener("click", () => call?.abort());
  byId("curl").addEventListener("click", copyCurl);
  byId("copy").addEventListener("click", async () => {
    const copied = answer !== null && await copy(answer.text);
    say(byId("copy"), copied ? "Copied" : "Not copied");
    setTimeout(() => say(byId("copy"), "Copy response"), 2000);
  });
}
