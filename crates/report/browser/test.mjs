// Opens a report and the dashboard of real runs in Chromium. Wants: KSEARCH (the program), RUNS (a folder with a finished
// run named by RUN), CHROMIUM; writes screenshots to ARTIFACTS. No test waits for a fixed time; slow machines only take longer.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const need = (name) => process.env[name] || assert.fail(`set ${name}`);
const program = need("KSEARCH"), runs = need("RUNS"), run = need("RUN"), artifacts = need("ARTIFACTS");
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const PATIENCE = 180_000;
mkdirSync(artifacts, { recursive: true });

let browser, dashboard, address;
const faults = [];

const open = async (url, width = 1440, scheme = "light") => {
  // Only the accessibility checker needs to be let past the page's own policy.
  const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme: scheme, bypassCSP: true, reducedMotion: "reduce" });
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE);
  page.on("console", (m) => { if (m.type() === "error") faults.push(`${url}: ${m.text()}`); });
  page.on("pageerror", (e) => faults.push(`${url}: ${e.message}`));
  await page.goto(url, { timeout: PATIENCE });
  return page;
};
const accessible = async (page) => {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => axe.run());
  const grave = violations.filter((v) => v.impact === "serious" || v.impact === "critical");
  assert.deepEqual(grave.map((v) => `${v.id}: ${v.nodes[0].html}`), []);
};
const shots = async (page, name) => {
  for (const width of [375, 768, 1440]) {
    await page.setViewportSize({ width, height: 900 });
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${name} is wider than ${width} px`);
    await page.screenshot({ path: path.join(artifacts, `${name}-${width}.png`), timeout: PATIENCE });
  }
};
const strict = async (url) => {
  // As a person opens it: with the page's policy in force.
  const page = await browser.newPage();
  page.on("console", (m) => { if (m.type() === "error") faults.push(`${url}: ${m.text()}`); });
  page.on("pageerror", (e) => faults.push(`${url}: ${e.message}`));
  await page.goto(url, { timeout: PATIENCE });
  return page;
};

before(async () => {
  browser = await chromium.launch({ executablePath: need("CHROMIUM"), args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"], timeout: PATIENCE });
  dashboard = spawn(program, ["--runs", runs, "ui"], { stdio: ["ignore", "pipe", "inherit"] });
  address = await new Promise((resolve, reject) => {
    let text = "";
    dashboard.stdout.on("data", (d) => { text += d; if (text.includes("\n")) resolve(text.trim()); });
    dashboard.on("exit", (code) => reject(new Error(`ksearch ui ended with ${code}`)));
  });
});
after(async () => {
  await browser?.close();
  dashboard?.kill();
  assert.deepEqual(faults, [], "no console errors");
});

test("the report of a real run", async () => {
  const file = path.resolve(artifacts, "report.html");
  const made = spawnSync(program, ["--runs", runs, "report", run, "--out", file], { encoding: "utf8" });
  assert.equal(made.status, 0, made.stderr);
  const url = pathToFileURL(file).href;
  const bare = await strict(url);
  await bare.waitForSelector("#detail h3");
  await bare.close();
  const page = await open(url);
  await page.waitForSelector("#trials .row[data-of]");
  // A node through the list of candidates, its difference and verdict.
  await page.locator("#trials .row[data-of] button").nth(1).click();
  await page.waitForSelector("#detail .diff .add");
  assert.match(await page.locator("#detail").innerText(), /Hypothesis[\s\S]*Verdict[\s\S]*Difference to its parent/);
  // A node through a plot.
  await page.locator("#progress [data-node]").first().dispatchEvent("click");
  await page.waitForFunction(() => document.querySelector("#detail h3").textContent === "naive");
  // A node by keyboard on the map; what is chosen is spoken.
  await page.locator("#map canvas").focus();
  await page.keyboard.press("ArrowRight");
  await page.waitForFunction(() => document.querySelector("#spoken").textContent !== "" && document.querySelector("#detail h3").textContent !== "naive");
  // By pointer: a drag moves the map, a click at the place of a node chooses it.
  const looks = () => page.evaluate(() => document.querySelector("#map canvas").toDataURL());
  await page.getByRole("button", { name: "Whole tree" }).click();
  const map = await page.locator("#map canvas").boundingBox();
  const settled = async (before) => page.waitForFunction((b) => document.querySelector("#map canvas").toDataURL() !== b, before);
  let before = await looks();
  await page.mouse.move(map.x + map.width / 2, map.y + map.height / 2);
  await page.mouse.down();
  await page.mouse.move(map.x + map.width / 2 + 60, map.y + map.height / 2 + 10, { steps: 4 });
  await page.mouse.up();
  await settled(before);
  before = await looks();
  await page.getByRole("button", { name: "Whole tree" }).click();
  await settled(before);
  // In view of the whole tree the root stands at its left edge, 20 pixels in.
  await page.evaluate(() => { document.querySelector("#detail h3").textContent = "?"; });
  for (let y = 6; y < map.height; y += 12) {
    await page.mouse.click(map.x + 20, map.y + y);
    if ((await page.locator("#detail h3").textContent()) === "naive") break;
  }
  assert.equal(await page.locator("#detail h3").textContent(), "naive");
  await page.locator("#show-outline").check();
  await page.waitForSelector("#outline [role=treeitem]");
  await page.locator("#outline [role=treeitem]").first().click();
  await page.keyboard.press("ArrowDown");
  await page.locator("#show-outline").uncheck();
  await page.locator("#find").fill("no such thing");
  await page.waitForFunction(() => document.querySelector("#found").textContent.startsWith("0 of"));
  await page.locator("#find").fill("");
  await accessible(page);
  await shots(page, "report");
  const dark = await open(url, 1440, "dark");
  await accessible(dark);
  await dark.screenshot({ path: path.join(artifacts, "report-dark.png"), timeout: PATIENCE });
});

test("two fingers zoom the map on a small screen", async () => {
  const context = await browser.newContext({ viewport: { width: 375, height: 800 }, hasTouch: true, isMobile: true, bypassCSP: true });
  const page = await context.newPage();
  page.on("pageerror", (e) => faults.push(`touch: ${e.message}`));
  page.setDefaultTimeout(PATIENCE);
  await page.goto(pathToFileURL(path.resolve(artifacts, "report.html")).href, { timeout: PATIENCE });
  await page.waitForSelector("#detail h3");
  await page.locator("#map").scrollIntoViewIfNeeded();
  const map = await page.locator("#map canvas").boundingBox();
  const looks = () => page.evaluate(() => document.querySelector("#map canvas").toDataURL());
  const client = await context.newCDPSession(page);
  const at = (d) => [-d, d].map((x, id) => ({ id, x: map.x + map.width / 2 + x, y: map.y + map.height / 2 }));
  const before = await looks();
  await client.send("Input.dispatchTouchEvent", { type: "touchStart", touchPoints: at(30) });
  for (const d of [40, 60, 80]) await client.send("Input.dispatchTouchEvent", { type: "touchMove", touchPoints: at(d) });
  await client.send("Input.dispatchTouchEvent", { type: "touchEnd", touchPoints: [] });
  await page.waitForFunction((b) => document.querySelector("#map canvas").toDataURL() !== b, before);
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "the page itself was not zoomed or widened");
  await context.close();
});

test("the dashboard: list, run, compare", async () => {
  const bare = await strict(address);
  await bare.waitForSelector(`a[href="run/${run}/"]`);
  await bare.close();
  const page = await open(address);
  await page.locator("#find").fill(run);
  await accessible(page);
  await shots(page, "runs");
  await page.locator(`a[href="run/${run}/"]`).click();
  await page.waitForSelector("#detail h3");
  await page.locator("#trials .row[data-of] button").nth(1).click();
  await page.waitForSelector("#detail .diff");
  // What each line of the best kernel costs is counted beside, and appears when it is known.
  await page.waitForFunction(() => /share of simdgroup instructions/.test(document.querySelector("#source").textContent));
  await accessible(page);
  await shots(page, "run");
  // From a node to its comparison.
  await page.locator("#detail .compare a", { hasText: "naive" }).click();
  assert.match(await page.locator("main").innerText(), /Times[\s\S]*Profiles[\s\S]*Sources/);
  await page.goto(`${address}compare?a=${run}:naive&b=${run}:best`);
  assert.match(await page.locator("main").innerText(), /Times[\s\S]*Profiles[\s\S]*Sources/);
  assert.ok(await page.locator(".diff .add").count());
  await accessible(page);
  await shots(page, "compare");
});

test("a run is seen while it is worked on, stopped, and resumed", async () => {
  const search = spawn(program, ["--runs", runs, "search", "softmax", "--evaluations", "40", "--quiet"], { stdio: "ignore" });
  const ended = new Promise((resolve) => search.on("exit", resolve));
  const page = await open(address);
  const link = page.locator("#list tr", { hasText: "softmax" }).filter({ hasText: "running" }).locator("a");
  await link.first().click();
  const judged = () => page.evaluate(() => (window.ksearch ? window.ksearch.data.trials.length : 0));
  await page.waitForFunction(() => window.ksearch && window.ksearch.data.trials.length > 0);
  const first = await judged();
  await page.waitForFunction((n) => window.ksearch.data.trials.length > n, first);
  await page.getByRole("button", { name: "Stop" }).click();
  assert.equal(await ended, 130, "the search ends as if it had been interrupted");
  await page.waitForFunction(() => document.querySelector("#state").textContent === "stopped");
  const stopped = await judged();
  await page.getByRole("button", { name: "Resume" }).click();
  await page.waitForFunction((n) => window.ksearch.data.trials.length > n, stopped);
  await page.screenshot({ path: path.join(artifacts, "live.png"), timeout: PATIENCE });
  await page.getByRole("button", { name: "Stop" }).click();
  await page.waitForFunction(() => document.querySelector("#state").textContent === "stopped");
});
