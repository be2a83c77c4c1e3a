// Tensors as texts: shapes and elements that users type, and elements that they read.

import { plural } from "./dom.js";

const most = 1 << 22; // elements that the form makes

// parseShape reads "1, 3, 224", also with × or spaces; "" is a scalar. It throws an Error with a sentence for users.
export function parseShape(text) {
  const words = text.split(/[\s,×x[\]()]+/).filter((w) => w !== "");
  for (const w of words) {
    if (/^\d{1,15}$/.test(w)) continue;
    throw new Error(`“${w}” is no dimension: write integers with commas, such as 1, 3, 224`);
  }
  const dimensions = words.map(Number);
  if (elements(dimensions) > Number.MAX_SAFE_INTEGER) throw new Error("the shape has too many elements");
  return dimensions;
}

// elements is the number of elements of a shape.
export const elements = (dimensions) => dimensions.reduce((n, d) => n * d, 1);

// fills make the text of one element.
const integer = (datatype) => /^U?INT/.test(datatype);
const fills = {
  zeros: (datatype) => () => (datatype === "BOOL" ? "false" : "0"),
  ones: (datatype) => () => (datatype === "BOOL" ? "true" : "1"),
  random: (datatype) => {
    if (datatype === "BOOL") return () => String(Math.random() < 0.5);
    if (integer(datatype)) return () => String(Math.floor(Math.random() * 10));
    return () => (Math.random() * 2 - 1).toFixed(3);
  },
};

// fill writes the elements of a tensor as JSON, nested as its shape, with one row on a line.
export function fill(kind, datatype, dimensions) {
  if (elements(dimensions) > most) throw new Error(`the form makes at most ${plural(most, "element")}`);
  const element = fills[kind](datatype);
  if (dimensions.length === 0 || elements(dimensions) === 0) {
    return `[${Array.from({ length: elements(dimensions) }, element).join(", ")}]`;
  }
  const write = (d) => {
    const last = d === dimensions.length - 1;
    const list = Array.from({ length: dimensions[d] }, last ? element : () => write(d + 1));
    return `[${list.join(last ? ", " : ",\n" + " ".repeat(d + 1))}]`;
  };
  return write(0);
}

// countJSON returns the number of elements of a JSON text, a list that may be nested. It throws an Error if the text is
// no JSON or no list.
export function countJSON(text) {
  const value = JSON.parse(text);
  if (!Array.isArray(value)) throw new Error("write a list of elements, such as [0, 0]");
  const leaves = (list) => list.reduce((n, v) => n + (Array.isArray(v) ? leaves(v) : 1), 0);
  return leaves(value);
}

// parse reads JSON whose large integers stay exact: those beyond 2^53 become BigInts.
export function parse(text) {
  return JSON.parse(text, (_, value, context) =>
    typeof value === "number" && !Number.isSafeInteger(value) && /^-?\d+$/.test(context?.source ?? "")
      ? BigInt(context.source) : value);
}

const edge = 3; // elements at both ends of a dimension that is cut
const whole = 8; // elements of a dimension that is not cut

// number writes an element: integers with all their digits, others with five, or as many as they have before the point.
function number(v) {
  if (typeof v !== "number" || Number.isSafeInteger(v)) return String(v);
  const whole = Math.floor(Math.log10(Math.abs(v))) + 1;
  return whole > 15 ? v.toExponential(4) : String(Number(v.toPrecision(Math.max(5, whole))));
}

// format writes a list of elements, flat or nested, as a shape: rows below each other, with the ends of long
// dimensions. Where the shape does not have so many elements, it writes one row.
export function format(data, dimensions) {
  const flat = Array.isArray(data) ? data.flat(Infinity) : [data];
  if (elements(dimensions) !== flat.length) dimensions = [flat.length];
  if (flat.length === 0) return "[]";
  if (dimensions.length === 0) return number(flat[0]);
  const shown = (n) => (n <= whole ? [...Array(n).keys()] : [...Array(edge).keys(), -1,
    ...Array.from({ length: edge }, (_, i) => n - edge + i)]);
  let width = 0;
  const walk = (d, from, each) => {
    const step = elements(dimensions.slice(d + 1));
    return shown(dimensions[d]).map((i) => {
      if (i < 0) return "…";
      return d === dimensions.length - 1 ? each(flat[from + i]) : walk(d + 1, from + i * step, each);
    });
  };
  walk(0, 0, (v) => { width = Math.max(width, number(v).length); });
  if (dimensions.length === 1) width = 0;
  const write = (list, d) => {
    const last = d === dimensions.length - 1;
    const gap = last ? ", " : ",\n" + "\n".repeat(Math.max(0, dimensions.length - d - 2)) + " ".repeat(d + 1);
    return `[${list.map((v) => (Array.isArray(v) ? write(v, d + 1) : v)).join(gap)}]`;
  };
  return write(walk(0, 0, (v) => number(v).padStart(width)), 0);
}

// summary describes elements: the least, the greatest with its place, and the mean; or how many are true.
export function summary(data, dimensions) {
  const flat = Array.isArray(data) ? data.flat(Infinity) : [data];
  if (flat.length < 2) return "";
  if (flat.every((v) => typeof v === "boolean")) return `true: ${flat.filter((v) => v).length}`;
  if (!flat.every((v) => typeof v === "number" || typeof v === "bigint")) return "";
  let least = 0, greatest = 0, sum = 0;
  flat.forEach((v, i) => {
    if (v < flat[least]) least = i;
    if (v > flat[greatest]) greatest = i;
    sum += Number(v);
  });
  const place = [];
  let rest = greatest;
  for (const d of (elements(dimensions) === flat.length ? dimensions : [flat.length]).toReversed()) {
    place.unshift(rest % d);
    rest = Math.floor(rest / d);
  }
  return `min ${number(flat[least])} · max ${number(flat[greatest])} at [${place.join(", ")}] · ` +
    `mean ${number(sum / flat.length)}`;
}
