package chromium

// Contrast says how well the texts of a page can be read.
type Contrast struct {
	Found  []string // the first texts with a contrast below 4.5 to their background, the limit of WCAG 2 (AA)
	Texts  int
	Ground string // the colour of the page
}

// Contrasts measures the texts of a page that are shown, and of all its details, which it opens.
func Contrasts(b *Tab) Contrast {
	b.t.Helper()
	return Eval[Contrast](b, contrasts)
}

const contrasts = `(() => {
  document.querySelectorAll("details").forEach((d) => { d.open = true; });
  const parse = (c) => { const m = c.match(/[\d.]+/g).map(Number); return m.length < 4 ? [...m, 1] : m; };
  const light = (c) => c.slice(0, 3).map((v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((s, v, i) => s + v * [0.2126, 0.7152, 0.0722][i], 0);
  const ground = (e) => {
    for (; e; e = e.parentElement) { const c = parse(getComputedStyle(e).backgroundColor); if (c[3] > 0) return c; }
    return [255, 255, 255, 1];
  };
  const found = [], seen = new Set();
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let n; (n = walk.nextNode());) {
    const e = n.parentElement;
    if (!n.data.trim() || seen.has(e) || ["SCRIPT", "STYLE", "title"].includes(e.tagName)) continue;
    seen.add(e);
    const s = getComputedStyle(e), c = parse(e instanceof SVGElement ? s.fill : s.color), g = ground(e);
    if (c[3] !== 1 || g[3] !== 1) found.push("transparent: " + n.data.trim());
    const [x, y] = [light(c), light(g)].sort((a, b) => b - a);
    if ((x + 0.05) / (y + 0.05) < 4.5) found.push(((x + 0.05) / (y + 0.05)).toFixed(2) + " " + n.data.trim());
  }
  return { found: found.slice(0, 10), texts: seen.size, ground: ground(document.body).join(" ") };
})()`
