// Pictures of a report for the documentation: node screens.mjs REPORT FOLDER, with CHROMIUM set.
import path from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const [, , report, folder] = process.argv;
const PATIENCE = 180_000;
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"], timeout: PATIENCE });
const page = await browser.newPage({ viewport: { width: 1200, height: 700 } });
page.setDefaultTimeout(PATIENCE);
await page.goto(pathToFileURL(path.resolve(report)).href);
await page.waitForSelector("#detail h3");
await page.screenshot({ path: path.join(folder, "report.png"), timeout: PATIENCE });
// The bar sticks to the top of the window, which is where a picture of a section begins.
await page.evaluate(() => { document.querySelector(".bar").style.position = "static"; });
await page.locator("#tree").screenshot({ path: path.join(folder, "tree.png"), timeout: PATIENCE });
await browser.close();
