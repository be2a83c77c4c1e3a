"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  const root = document.documentElement;

  // The theme: the system's, until the button chooses another one, which is remembered where storage is permitted.
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const remembered = () => { try { return localStorage.getItem("tvmgo-bench-theme"); } catch { return null; } };
  const remember = (v) => { try { localStorage.setItem("tvmgo-bench-theme", v); } catch { /* not permitted */ } };
  const theme = byId("theme");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : dark.matches);
  const label = () => { theme.textContent = isDark() ? "Light mode" : "Dark mode"; };
  const saved = remembered();
  if (saved === "dark" || saved === "light") root.dataset.theme = saved;
  theme.hidden = false;
  label();
  dark.addEventListener("change", label);
  theme.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    remember(root.dataset.theme);
    label();
  });

  // The table: buttons in its head sort, the field above filters.
  const table = byId("table");
  if (table) {
    const body = table.tBodies[0];
    const rows = [...body.rows];
    const heads = [...table.tHead.rows[0].cells];
    const compareText = new Intl.Collator(undefined, { numeric: true }).compare;
    const value = (row, i) => {
      const v = row.cells[i].dataset.v;
      return v === undefined ? NaN : Number(v);
    };
    const sort = (i, down) => {
      const number = heads[i].classList.contains("n");
      const sign = down ? -1 : 1;
      const compare = (a, b) => {
        if (!number) return sign * compareText(a.cells[i].textContent, b.cells[i].textContent);
        const x = value(a, i), y = value(b, i);
        if (isNaN(x) || isNaN(y)) return isNaN(x) - isNaN(y); // rows without a value are last
        return sign * (x - y);
      };
      body.append(...[...rows].sort(compare));
      heads.forEach((h, k) => h.setAttribute("aria-sort", k !== i ? "none" : down ? "descending" : "ascending"));
    };
    heads.forEach((h, i) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = h.textContent;
      h.textContent = "";
      h.setAttribute("aria-sort", "none");
      h.append(button);
      button.addEventListener("click", () => sort(i, h.getAttribute("aria-sort") === "ascending"));
    });
    const filter = byId("filter"), shown = byId("shown");
    const texts = rows.map((r) => [...r.cells].map((c) => c.textContent).join(" ").toLowerCase());
    const apply = () => {
      const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
      let n = 0;
      rows.forEach((r, i) => {
        r.hidden = !words.every((w) => texts[i].includes(w));
        n += r.hidden ? 0 : 1;
      });
      shown.textContent = `${n} of ${rows.length} rows`;
    };
    filter.closest(".tools").hidden = false;
    filter.addEventListener("input", apply);
    apply();
  }

  // The roofline: one stop for Tab, arrow keys within; details of the mark below the picture.
  const detail = byId("detail");
  for (const chart of document.querySelectorAll(".roof svg[role=group]")) {
    const points = [...chart.querySelectorAll(".pt")];
    const marked = [...chart.querySelectorAll("[data-k]")];
    const show = (p) => {
      detail.textContent = p.getAttribute("aria-label");
      for (const m of marked) m.classList.toggle("dim", m.dataset.k !== p.dataset.k);
    };
    const clear = () => marked.forEach((m) => m.classList.remove("dim"));
    points.forEach((p, i) => {
      p.setAttribute("tabindex", i === 0 ? "0" : "-1");
      p.addEventListener("pointerenter", () => show(p));
      p.addEventListener("pointerleave", clear);
      p.addEventListener("focus", () => {
        points.forEach((q) => q.setAttribute("tabindex", q === p ? "0" : "-1"));
        show(p);
      });
      p.addEventListener("blur", clear);
      p.addEventListener("keydown", (e) => {
        const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[e.key];
        const to = e.key === "Home" ? 0 : e.key === "End" ? points.length - 1 : step ? i + step : -1;
        if (points[to]) {
          e.preventDefault();
          points[to].focus();
        }
      });
    });
  }
})();
