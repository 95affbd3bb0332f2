// Drives Chromium over the pages of `assay view`.
//
//     node browser.cjs SCENARIO URL [ARGUMENT]...
//
// Prints a JSON document with what was found; a scenario that fails ends with 1 and a message. playwright-core and axe-core are
// found through NODE_PATH.
"use strict";
const fs = require("fs");
const path = require("path");
const { chromium } = require("playwright-core");

const AXE = fs.readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const OPTIONS = [
  "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync",
];

const fail = (message) => {
  throw new Error(message);
};

/** A page in a context of its own, whose errors and foreign requests are collected. */
async function open(browser, base, settings = {}) {
  const context = await browser.newContext({ viewport: { width: 1200, height: 900 }, ...settings });
  const page = await context.newPage();
  const found = [];
  page.on("console", (message) => message.type() === "error" && found.push(`console: ${message.text()}`));
  page.on("pageerror", (error) => found.push(`error: ${error.message}`));
  page.on("dialog", async (dialog) => {
    found.push(`dialog: ${dialog.message()}`);
    await dialog.dismiss();
  });
  page.on("request", (request) => {
    const url = request.url();
    if (!url.startsWith(base) && !url.startsWith("about:") && !url.startsWith("data:")) found.push(`request: ${url}`);
  });
  return { context, page, found };
}

/** The kind of a page: its path without names, ids and numbers. */
const kind = (url) =>
  new URL(url).pathname
    .replace(/.*?(?=\/(runs|compare|review|draft|index)|\/$)/, "")
    .replace(/\/index\.html$/, "/")
    .replace(/\/compare\/[^/]+\/[^/]+/, "/compare/A/B")
    .replace(/\/review\/[^/]+/, "/review/SHEET")
    .replace(/(\/review\/SHEET)\/(?!adjudicate)[^/]+/, "$1/NAME")
    .replace(/(\/review\/SHEET\/[^/]+)\/\d+/, "$1/N")
    .replace(/\/draft\/tasks\/[^/]+/, "/draft/tasks/NAME")
    .replace(/\/runs\/[^/]+/, "/runs/RUN")
    .replace(/\/skills\/[^/]+/, "/skills/SKILL")
    .replace(/[0-9a-f]{64}/g, "ID")
    .replace(/\/(cells|comparisons|page|attempts)\/\d+/g, "/$1/N");

/** The internal links of a page, without anchors and downloads. */
const links = (page) =>
  page.evaluate(() =>
    [...document.querySelectorAll("a[href]")].filter((a) => !a.hasAttribute("download")).map((a) => a.href.split("#")[0]));

/** Anchors that lead nowhere. */
const broken = (page) =>
  page.evaluate(() =>
    [...document.querySelectorAll('a[href^="#"]')].map((a) => a.getAttribute("href").slice(1)).filter((id) => id && !document.getElementById(id)));

async function accessible(page, what) {
  await page.evaluate(AXE);
  const { violations } = await page.evaluate(() => axe.run(document, { preload: false, runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"] }));
  if (violations.length > 0) {
    const lines = violations.map((item) => `${item.id}: ${item.help}: ${item.nodes.slice(0, 3).map((node) => node.html.slice(0, 200)).join(" | ")}`);
    fail(`${what}: ${lines.join("\n")}`);
  }
}

async function narrow(page, what) {
  await page.setViewportSize({ width: 400, height: 800 });
  const wide = await page.evaluate(() => document.scrollingElement.scrollWidth);
  if (wide > 400) {
    const who = await page.evaluate(() =>
      [...document.querySelectorAll("main *")].filter((item) => item.getBoundingClientRect().right > 401 && !item.closest(".table, pre, ol.skill, figure")).slice(0, 3).map((item) => item.outerHTML.slice(0, 160)));
    fail(`${what}: ${wide} px wide on a screen of 400: ${who.join(" | ")}`);
  }
  await page.setViewportSize({ width: 1200, height: 900 });
}

/** Hidden behind a scroll bar: reachable by keyboard. */
const unfocusable = (page) =>
  page.evaluate(() =>
    [...document.querySelectorAll("main *")]
      .filter((item) => {
        const style = getComputedStyle(item);
        const scrolls = /auto|scroll/.test(style.overflowX + style.overflowY);
        return scrolls && (item.scrollWidth > item.clientWidth + 1 || item.scrollHeight > item.clientHeight + 1) && item.tabIndex < 0;
      })
      .map((item) => item.outerHTML.slice(0, 160)));

/** Visits pages from `url` on, `most` of each kind; every second page without JavaScript. */
async function crawl(browser, url, most) {
  const base = url.startsWith("file:") ? url.replace(/[^/]*$/, "") : new URL(url).origin;
  const modes = [
    await open(browser, base),
    await open(browser, base, { javaScriptEnabled: false, colorScheme: "dark" }),
  ];
  // Evaluation needs JavaScript: pages that were visited without are read back from their source.
  const reader = await open(browser, base, { colorScheme: "dark" });
  const waiting = [url];
  const known = new Set(waiting);
  const kinds = {};
  let visited = 0;
  while (waiting.length > 0) {
    const next = waiting.shift();
    const name = kind(next);
    kinds[name] = (kinds[name] || 0) + 1;
    if (kinds[name] > most) continue;
    const mode = modes[visited % 2];
    visited += 1;
    const response = await mode.page.goto(next);
    // A page that waits for what is computed is not yet the page. It loads itself again, or is loaded without scripts.
    const ready = () => !document.body.dataset.reload;
    if (mode === modes[0]) await mode.page.waitForFunction(ready, null, { timeout: 60000 });
    for (let times = 0; mode !== modes[0] && times < 60 && (await mode.page.content()).includes("data-reload="); times++) {
      await mode.page.goto(next);
    }
    if (response && response.status() !== 200 && !next.startsWith("file:")) fail(`${next}: status ${response.status()}`);
    const text = await mode.page.textContent("body");
    if (!text.trim()) fail(`${next} is empty`);
    const target = mode === modes[0] ? mode : reader;
    if (target === reader) await reader.page.goto(next);
    const page = target.page;
    const nowhere = await broken(page);
    if (nowhere.length > 0) fail(`${next}: anchors lead nowhere: ${nowhere.slice(0, 5)}`);
    if (kinds[name] === 1) {
      await accessible(page, `${name} (${target === reader ? "dark" : "light"})`);
      if (target === modes[0]) {
        await page.emulateMedia({ colorScheme: "dark" });
        await accessible(page, `${name} (dark)`);
        await page.emulateMedia({ colorScheme: "light" });
      }
      await narrow(page, name);
      const hidden = await unfocusable(page);
      if (hidden.length > 0) fail(`${name}: scroll areas without focus: ${hidden.slice(0, 3).join(" | ")}`);
    }
    for (const link of await links(page)) {
      if (!link.startsWith(base)) fail(`${next} links to ${link}`);
      if (!known.has(link)) {
        known.add(link);
        waiting.push(link);
      }
    }
    for (const { found } of [...modes, reader]) if (found.length > 0) fail(`${next}: ${found.join("; ")}`);
  }
  return { visited, found: known.size, kinds: Object.keys(kinds).sort() };
}

const scenarios = {
  async crawl(browser, url, most) {
    return crawl(browser, url, Number(most));
  },

  // Keyboard alone: from the list of runs to a trial and back.
  async keyboard(browser, url) {
    const { page, found } = await open(browser, new URL(url).origin);
    await page.goto(url);
    const focused = () => page.evaluate(() => document.activeElement.textContent);
    await page.keyboard.press("j");
    const first = await focused();
    await page.keyboard.press("Enter");
    await page.waitForURL("**/runs/*/");
    await page.keyboard.press("/");
    await page.keyboard.type("the");
    await page.keyboard.press("Enter");
    await page.waitForURL("**/search/?q=the");
    await page.keyboard.press("j");
    await page.keyboard.press("j");
    await page.keyboard.press("k");
    const hit = await focused();
    await page.keyboard.press("Enter");
    await page.waitForURL("**/trials/**");
    const at = page.url();
    await page.keyboard.press("Escape");
    await page.waitForURL("**/cells/*/");
    await page.keyboard.press("Escape");
    await page.waitForURL("**/runs/*/");
    if (found.length > 0) fail(found.join("; "));
    return { first, hit, at: kind(at) };
  },

  // From the verdict of a run, in three clicks, to the step where a rule of the skill was applied.
  async verdict(browser, url) {
    const { page, found } = await open(browser, new URL(url).origin, { javaScriptEnabled: false });
    await page.goto(url);
    await page.click(".verdict a");
    const comparison = kind(page.url());
    await page.click("table.list tbody tr:first-child a.row");
    const pair = kind(page.url());
    await page.click('table.matches a[href^="#step-"]');
    const step = new URL(page.url()).hash;
    if (found.length > 0) fail(found.join("; "));
    return { comparison, pair, step };
  },

  // From a failing check on the page of a run, in one click, to the first trial with the check's output in view.
  async check(browser, url) {
    const { page, found } = await open(browser, new URL(url).origin, { javaScriptEnabled: false });
    await page.goto(url);
    const link = page.locator('a[href*="#check-"]').first();
    const name = (await link.textContent()).trim();
    await link.click();
    const anchor = decodeURIComponent(new URL(page.url()).hash.slice(1));
    const check = page.locator(`[id="${anchor}"]`);
    await check.waitFor();
    await page.waitForTimeout(500);
    const box = await check.boundingBox();
    const shown = await check.innerText();
    if (found.length > 0) fail(found.join("; "));
    return { name, kind: kind(page.url()), top: box.y, shown };
  },

  // A run that is in progress: its numbers grow without a reload, and the page ends when the run does.
  async live(browser, url) {
    const { page, found } = await open(browser, new URL(url).origin);
    await page.goto(url);
    await page.waitForSelector('[data-live="finished"]');
    await page.evaluate(() => { window.sameDocument = true; });
    const number = async () => Number(await page.textContent('[data-live="finished"]'));
    const seen = [await number()];
    const until = Date.now() + 120000;
    const planned = await page.evaluate(() => Number(document.querySelector("[data-live=bar]").max));
    while (seen[seen.length - 1] < planned && Date.now() < until) {
      await page.waitForTimeout(200);
      const now = await number();
      if (now !== seen[seen.length - 1]) seen.push(now);
    }
    await page.waitForTimeout(4000);
    const report = await page.textContent("#report");
    if (!(await page.evaluate(() => window.sameDocument))) fail("the page was loaded again");
    if (found.length > 0) fail(found.join("; "));
    return { seen, planned, report };
  },

  // Labels by keys alone, then one by a button without JavaScript.
  async label(browser, url, sheet) {
    const origin = new URL(url).origin;
    const { page, found } = await open(browser, origin);
    await page.goto(url);
    await page.goto(`${origin}/review/${sheet}/`);
    await page.fill("input[name=annotator]", "ann");
    await page.keyboard.press("Enter");
    await page.waitForURL(`**/review/${sheet}/ann/`);
    await page.click("text=Continue");
    const heading = async () => (await page.textContent("h1")).replace(/.*?(?=Item)/s, "").trim();
    // The script that reads keys has run once the page is complete.
    const arrive = (expected) =>
      page.waitForFunction(
        (text) => document.readyState === "complete" && document.querySelector("h1")?.textContent.includes(text),
        expected,
      );
    const press = async (key, expected) => {
      await page.keyboard.press(key);
      await arrive(expected);
    };
    await arrive("Item 1 of 8");
    await press("1", "Item 2 of 8");
    await press("0", "Item 3 of 8");
    await press("?", "Item 4 of 8");
    await press("u", "Item 3 of 8");
    const undone = await heading();
    await press("ArrowRight", "Item 4 of 8");
    await press("ArrowLeft", "Item 3 of 8");
    // Keys that are typed into the note mark nothing.
    await page.fill("#note", "");
    await page.focus("#note");
    await page.keyboard.type("seen 1 and 0");
    await page.keyboard.press("Escape");
    await press("1", "Item 4 of 8");
    const stolen = await page.evaluate(() => "stolen" in window);
    await accessible(page, "an item");
    const plain = await open(browser, origin, { javaScriptEnabled: false });
    await plain.page.goto(url);
    await plain.page.goto(`${origin}/review/${sheet}/ben/1/`);
    await plain.page.click("button[value='0']");
    await plain.page.waitForURL(`**/review/${sheet}/ben/2/`);
    for (const { found: errors } of [{ found }, plain]) if (errors.length > 0) fail(errors.join("; "));
    return { undone, stolen };
  },

  // Hostile content: nothing of it becomes markup.
  async hostile(browser, url) {
    const result = await crawl(browser, url, 8);
    const { page } = await open(browser, new URL(url).origin);
    await page.goto(url);
    const scripts = await page.evaluate(() => [...document.scripts].map((script) => script.getAttribute("src")));
    return { ...result, scripts };
  },

  // Pictures of pages, for documents and for people.
  async screens(browser, url, folder, ...pages) {
    fs.mkdirSync(folder, { recursive: true });
    for (const item of pages) {
      const [name, address, scheme = "light", width = "1200", height = "900"] = item.split(",");
      const viewport = { width: Number(width), height: Number(height) };
      const { page, context } = await open(browser, new URL(url).origin, { viewport, colorScheme: scheme });
      await page.goto(new URL(address, url).href);
      await page.waitForTimeout(200);
      await page.screenshot({ path: path.join(folder, `${name}.png`) });
      await context.close();
    }
    return { pages: pages.length };
  },
};

(async () => {
  const [, , scenario, url, ...rest] = process.argv;
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM || "/usr/bin/chromium", args: OPTIONS });
  try {
    const found = await scenarios[scenario](browser, url, ...rest);
    console.log(JSON.stringify(found));
  } catch (error) {
    console.error(error.message);
    process.exitCode = 1;
  } finally {
    await browser.close();
  }
})();
