// Calls of the server: GET v2/status and POST v2/models/NAME/infer, with a token if the server wants one.

import { parse } from "./tensor.js";

let token = ""; // only here: it is gone with the page

// setToken sets the bearer token of the next calls; "" is none. It throws an Error if a header cannot have it.
export function setToken(text) {
  if (!/^[\x21-\x7e]*$/.test(text)) throw new Error("a token has visible ASCII characters only");
  token = text;
}

export const hasToken = () => token !== "";

// Answer is what a server said: its text, and the value of that if it is JSON.
class Answer {
  constructor(response, text, milliseconds) {
    this.status = response.status;
    this.ok = response.ok;
    this.retryAfter = response.headers.get("Retry-After");
    this.text = text;
    this.milliseconds = milliseconds;
    try {
      this.value = parse(text);
    } catch { /* it is no JSON */ }
  }

  // error is the server's message, verbatim.
  get error() {
    if (typeof this.value?.error === "string" && this.value.error !== "") return this.value.error;
    return this.text.trim() || "The server gave no reason.";
  }
}

// call throws what fetch throws: the server was not reached, or the call was aborted.
async function call(path, options) {
  const headers = { ...options.headers };
  if (token !== "") headers.Authorization = `Bearer ${token}`;
  const begun = performance.now();
  const response = await fetch(path, { ...options, headers, cache: "no-store", credentials: "same-origin" });
  const text = await response.text();
  return new Answer(response, text, performance.now() - begun);
}

export const getStatus = () => call("v2/status", { signal: AbortSignal.timeout(10_000) });

const inferPath = (model) => `v2/models/${encodeURIComponent(model)}/infer`;
const json = { "Content-Type": "application/json" };

export const infer = (model, body, signal) => call(inferPath(model), { method: "POST", headers: json, body, signal });

// body writes a request. The data of inputs is JSON text that goes into it as it is, so that no digit is lost.
export function body(inputs) {
  const list = inputs.map((t) => `{"name":${JSON.stringify(t.name)},"datatype":${JSON.stringify(t.datatype)},` +
    `"shape":${JSON.stringify(t.shape)},"data":${t.data.replace(/\s*\n\s*/g, " ").trim()}}`);
  return `{"inputs":[${list.join(",")}]}`;
}

const longest = 40_000; // characters of an argument; Linux takes 128 KiB

// curl writes the command of a shell that sends a body. The token is not in it, only the variable TOKEN.
export function curl(model, body) {
  const quote = (text) => `'${text.replaceAll("'", "'\\''")}'`;
  const url = new URL(inferPath(model), document.baseURI).href;
  const lines = [`curl -sS ${quote(url)}`, `-H ${quote("Content-Type: application/json")}`];
  if (token !== "") lines.push('-H "Authorization: Bearer $TOKEN"');
  if (body.length <= longest) return [...lines, `-d ${quote(body)}`].join(" \\\n  ");
  return `${[...lines, "--data-binary @- <<'END'"].join(" \\\n  ")}\n${body}\nEND`;
}
