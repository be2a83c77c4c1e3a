// The page: it asks for the status of the server while it is visible, and shows it.

import * as api from "./api.js";
import { byId, count, el, say, show } from "./dom.js";
import * as form from "./form.js";
import { showModels } from "./models.js";

const every = 2000; // milliseconds

let timer = 0;
let asking = false;
let locked = false; // the server wants a token: it is not asked before there is one
let since = null; // when the server was first not reached

const time = (date) => date.toLocaleTimeString("en-GB");

// trouble shows why the status is not the latest; "" is no trouble. It is read aloud when it changes.
function trouble(text) {
  const box = byId("connection");
  if (box.textContent === text) return;
  box.replaceChildren(...(text === "" ? [] : [el("p", { class: "notice", "data-kind": "bad" }, text)]));
}

// stale marks what is shown as old.
function stale(is) {
  byId("models").classList.toggle("stale", is);
  if (is) {
    const pill = byId("ready");
    pill.dataset.kind = "bad";
    say(pill, locked ? "locked" : "unreachable");
  }
}

// wantToken asks the user for a token, and says why in the server's words.
function wantToken(why) {
  locked = true;
  say(byId("token-why"), why);
  if (byId("login").hidden) {
    show(byId("login"), true);
    byId("token").focus();
  }
  stale(true);
  trouble("");
}

function showStatus(status) {
  const models = status.models.filter((m) => typeof m?.name === "string");
  const ready = models.filter((m) => m.state === "READY").length;
  const sum = (key) => models.reduce((n, m) => n + (m[key] > 0 ? m[key] : 0), 0);
  const name = status.server?.name || "tvmgo serve";
  say(byId("server"), name);
  say(byId("version"), status.server?.version ?? "");
  say(byId("ready"), status.ready ? "ready" : "not ready");
  byId("ready").dataset.kind = status.ready ? "good" : "warn";
  say(byId("total-ready"), `${count(ready)} of ${count(models.length)}`);
  say(byId("total-waiting"), count(sum("queue")));
  say(byId("total-running"), count(sum("running")));
  say(byId("updated"), time(new Date()));
  document.title = `${ready}/${models.length} ready – ${name}`;
  showModels(models, form.choose);
  form.setModels(models);
}

async function ask() {
  try {
    const a = await api.getStatus();
    since = null;
    if (a.status === 401) return wantToken(a.error);
    locked = false;
    show(byId("login"), false);
    const good = a.ok && Array.isArray(a.value?.models);
    if (good) showStatus(a.value);
    trouble(good ? "" : `The server does not give its status (HTTP ${a.status}): ${a.error.slice(0, 1000)}`);
    stale(!good);
  } catch (e) {
    since ??= new Date();
    trouble(`The server is unreachable since ${time(since)} (${e.message}). This page tries again every 2 seconds.`);
    stale(true);
  }
}

// poll asks once, and again later. It stops while the page is hidden or the server wants a token.
async function poll() {
  clearTimeout(timer);
  if (asking || locked || document.hidden) return;
  asking = true;
  await ask();
  asking = false;
  if (!locked && !document.hidden) timer = setTimeout(poll, every);
}

document.addEventListener("visibilitychange", poll);

byId("login").addEventListener("submit", (e) => {
  e.preventDefault();
  try {
    api.setToken(byId("token").value.trim());
  } catch (error) {
    say(byId("token-why"), error.message);
    return;
  }
  byId("token").value = "";
  locked = false;
  poll();
});

byId("forget").addEventListener("click", () => {
  api.setToken("");
  show(byId("forget"), false);
  poll();
});

form.connect(wantToken);
poll();
