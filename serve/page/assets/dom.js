// Elements of the page. Texts become text nodes and never HTML.

export const byId = (id) => document.getElementById(id);

// el makes an element with attributes and children; a child that is no node becomes a text.
export function el(tag, attributes = {}, ...children) {
  const e = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== false) e.setAttribute(name, value === true ? "" : value);
  }
  e.append(...children);
  return e;
}

// say sets the text of an element; an element that has it already is left alone, so that a selection stays.
export function say(e, text) {
  if (e.textContent !== String(text)) e.textContent = text;
}

// show shows or hides an element.
export function show(e, shown) {
  if (e.hidden === shown) e.hidden = !shown;
}

const grouped = new Intl.NumberFormat("en-US");

// count writes an integer: 150,528.
export const count = (n) => grouped.format(n);

// plural writes a number of things: 1 element, 2 elements.
export const plural = (n, thing) => `${count(n)} ${thing}${n === 1 ? "" : "s"}`;

// duration writes microseconds with three significant digits: 87.0 µs, 3.21 ms, 1.50 s.
export function duration(us) {
  if (!Number.isFinite(us)) return "–";
  let unit = "µs";
  if (us >= 999.5) [us, unit] = [us / 1000, "ms"];
  if (unit === "ms" && us >= 999.5) [us, unit] = [us / 1000, "s"];
  return `${us >= 999.5 ? count(Math.round(us)) : us.toPrecision(3)} ${unit}`;
}

// size writes a number of bytes: 512 B, 1.50 KiB.
export function size(n) {
  let unit = 0;
  for (; n >= 1023.5 && unit < 4; unit++) n /= 1024;
  return unit === 0 ? `${n} B` : `${n.toPrecision(n < 999.5 ? 3 : 4)} ${["B", "KiB", "MiB", "GiB", "TiB"][unit]}`;
}

// shape writes dimensions; those that a request decides are question marks: ? × 128.
export function shape(dimensions) {
  if (!Array.isArray(dimensions)) return "unknown";
  if (dimensions.length === 0) return "scalar";
  return dimensions.map((d) => (d < 0 ? "?" : String(d))).join(" × ");
}

// copy puts a text on the clipboard, and returns whether that worked. Pages that came neither by HTTPS nor from the
// same machine have no clipboard of their own; there, the browser copies what is selected.
export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch { /* not permitted, or there is none */ }
  const focused = document.activeElement;
  const field = el("textarea", { class: "hidden", "aria-hidden": "true", tabindex: "-1" });
  field.value = text;
  document.body.append(field);
  field.select();
  const copied = document.execCommand("copy");
  field.remove();
  focused?.focus();
  return copied;
}
