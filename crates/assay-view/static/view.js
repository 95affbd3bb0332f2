// Keyboard and live updates. Every page works without this script.
"use strict";
(() => {
  const rows = () => [...document.querySelectorAll("a.row, #report td a, #report th a, details.check > summary, .step")].filter((item) => item.offsetParent !== null);
  const move = (by) => {
    const items = rows();
    if (items.length === 0) return;
    const at = items.indexOf(document.activeElement);
    const next = items[Math.min(Math.max(at + by, 0), items.length - 1)];
    if (!next.hasAttribute("tabindex") && next.tagName === "ARTICLE") next.setAttribute("tabindex", "-1");
    next.focus();
    next.scrollIntoView({ block: "nearest" });
  };
  // A form is sent once: a key that is pressed twice marks no item that was not seen.
  let sent = false;
  document.addEventListener("submit", (event) => {
    if (sent) event.preventDefault();
    else if (event.target.method === "post") sent = true;
  });
  addEventListener("pageshow", () => { sent = false; });
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const field = event.target.closest("input, select, textarea");
    if (event.key === "Escape") {
      if (field) return field.blur();
      const up = document.querySelector('link[rel="up"]');
      if (up) location.href = up.href;
      return;
    }
    if (field) return;
    const button = document.querySelector(`[data-key="${CSS.escape(event.key)}"]`);
    if (button && !sent) {
      event.preventDefault();
      button.click();
    } else if (event.key === "j") move(1);
    else if (event.key === "k") move(-1);
    else if (event.key === "/") {
      const search = document.getElementById("search");
      if (!search) return;
      event.preventDefault();
      search.focus();
    }
  });

  // A target inside something folded is unfolded.
  const unfold = () => {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (let item = target; item; item = item.parentElement) if (item.tagName === "DETAILS") item.open = true;
    if (target) target.scrollIntoView();
  };
  addEventListener("hashchange", unfold);
  unfold();

  // A page that waits for what is computed. Without scripts, it has a link.
  const { events, reload } = document.body.dataset;
  if (reload) setTimeout(() => location.reload(), 1000 * reload);

  if (!events) return;
  const refresh = async () => {
    const page = await fetch(location.pathname, { cache: "no-store" });
    if (!page.ok) return;
    const fresh = new DOMParser().parseFromString(await page.text(), "text/html");
    const [old, now] = [document.getElementById("report"), fresh.getElementById("report")];
    if (old && now && !old.contains(document.activeElement)) old.replaceWith(document.adoptNode(now));
  };
  let waiting = false;
  const source = new EventSource(events);
  source.addEventListener("progress", (event) => {
    const progress = JSON.parse(event.data);
    for (const name of ["finished", "spent", "left"]) {
      const item = document.querySelector(`[data-live="${name}"]`);
      if (item) item.textContent = progress[name];
    }
    const bar = document.querySelector('[data-live="bar"]');
    if (bar) bar.value = progress.finished;
    if (progress.finished >= progress.planned) source.close();
    if (!waiting) {
      waiting = true;
      setTimeout(async () => { waiting = false; await refresh(); }, 1500);
    }
  });
})();
