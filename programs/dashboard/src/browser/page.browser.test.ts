import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type BrowserContext, chromium, type Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { startDashboardServer } from "../server/dashboard-server.ts";
import { readPages } from "../server/page-files.ts";
import { type Sample, sampleSource, WITNESS_URL } from "../testing/sample-feed.ts";

const NAMES = ["chromium", "chromium-browser", "google-chrome-stable", "google-chrome"];
const executablePath = NAMES.map((name) => spawnSync("which", [name], { encoding: "utf8" }).stdout?.trim()).find(Boolean);
const FLAGS = [
  ...["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"],
  ...["--disable-background-networking", "--disable-component-update", "--disable-sync"],
];
/** With RNODE_SCREENSHOTS=FOLDER, the page is kept as it looked. */
const screenshots = process.env.RNODE_SCREENSHOTS;
if (executablePath === undefined)
  console.log(`the tests of the dashboard in a browser did not run: none of ${NAMES.join(", ")} is installed`);

describe.skipIf(executablePath === undefined)("the page in Chromium", () => {
  const closings: (() => Promise<unknown>)[] = [];
  let profile = "";
  let browser: BrowserContext;
  beforeAll(async () => {
    profile = mkdtempSync(join(tmpdir(), "rnode-chromium-"));
    browser = await chromium.launchPersistentContext(profile, { executablePath: executablePath!, headless: true, args: FLAGS });
  });
  afterEach(async () => {
    for (const close of closings.splice(0)) await close();
  });
  afterAll(async () => {
    await browser.close();
  });

  /** Anything that the page complains about, or asks of others, is a fault. */
  async function show(sample: Sample, width = 1440): Promise<{ readonly page: Page; readonly faults: string[] }> {
    const server = await startDashboardServer({ addr: "127.0.0.1", port: 0, vhosts: [] }, readPages(), sampleSource(sample));
    const page = await browser.newPage();
    const origin = `http://127.0.0.1:${server.port}`;
    const faults: string[] = [];
    page.on("pageerror", (error) => faults.push(error.message));
    page.on("console", (message) => void (message.type() === "error" && faults.push(message.text())));
    page.on("request", (request) => void (request.url().startsWith(`${origin}/`) || faults.push(`asked ${request.url()}`)));
    closings.push(async () => {
      await page.close();
      await server.close();
    });
    await page.setViewportSize({ width, height: 900 });
    await page.goto(origin);
    await page.getByRole("heading", { name: "Health" }).waitFor();
    return { page, faults };
  }

  async function keep(page: Page, name: string): Promise<void> {
    if (screenshots === undefined) return;
    mkdirSync(screenshots, { recursive: true });
    for (const scheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme: scheme });
      await page.waitForTimeout(400);
      await page.screenshot({ path: join(screenshots, `${name}-${scheme}.png`), fullPage: true });
    }
    await page.emulateMedia({ colorScheme: "light" });
  }

  it.each([1440, 1280, 800, 400])(
    "shows everything at %i pixels, with nothing over the edge, and asks nobody else",
    async (width) => {
      const { page, faults } = await show("data", width);
      await page.getByText("All is well.").waitFor();
      for (const name of ["Heads", "Pipeline", "Drops", "Blocks", "Subblocks", "Pool", "Peers", "Batches"]) {
        await page.getByRole("heading", { name, exact: true }).waitFor();
      }
      const pipeline = page.getByRole("region", { name: "Derivation by L1 block" });
      await pipeline.getByText("3739 – 3741").waitFor();
      await pipeline.getByText("2 drops").waitFor();
      await page.getByText("lost: 3 L2 blocks with 412 transactions").waitFor();
      expect(await page.getByRole("region", { name: "Batches: transactions" }).getByText("0.00071 ETH").first().isVisible()).toBe(
        true,
      );
      expect(await page.locator(".chart canvas").count()).toBeGreaterThanOrEqual(2);
      expect(await page.evaluate("document.documentElement.scrollWidth - window.innerWidth")).toBeLessThanOrEqual(0);
      const cut = "[...document.querySelectorAll('.scroll')].filter((box) => box.scrollWidth > box.clientWidth).length";
      if (width >= 1280) expect(await page.evaluate(cut)).toBe(0);
      await keep(page, `data-${width}`);
      expect(faults).toEqual([]);
    },
  );

  it("can be used with the keyboard alone", async () => {
    const { page, faults } = await show("data");
    await page.getByText("All is well.").waitFor(); // what can be chosen comes with the data
    const focused = (): Promise<string> =>
      page.evaluate("document.activeElement?.getAttribute('value') ?? document.activeElement?.getAttribute('aria-label') ?? ''");
    const tabTo = async (wanted: RegExp): Promise<void> => {
      for (let steps = 0; steps < 30 && !wanted.test(await focused()); steps++) await page.keyboard.press("Tab");
      expect(await focused()).toMatch(wanted);
    };
    await tabTo(/^Colours: auto/);
    await page.keyboard.press("Enter");
    await page.keyboard.press("Enter");
    expect(await page.evaluate("document.documentElement.dataset.theme")).toBe("dark");
    await page.keyboard.press("Enter");
    await tabTo(/^sequencer$/);
    await page.keyboard.press("ArrowRight");
    await page.getByText("verifier", { exact: true }).nth(1).waitFor();
    expect(await page.getByRole("radio", { name: "verifier" }).isChecked()).toBe(true);
    await tabTo(/^Age of the heads/);
    const legend = () => page.locator(".chart .u-legend").first().textContent();
    const latest = await legend();
    for (let steps = 0; steps < 5; steps++) await page.keyboard.press("ArrowLeft");
    expect(await legend()).not.toBe(latest);
    expect(faults).toEqual([]);
  });

  it("says where nothing is known yet", async () => {
    const { page, faults } = await show("nothing");
    for (const text of ["Derivation has read no L1 block", "Nothing was dropped.", "No block after the genesis yet."]) {
      await page.getByText(text).first().waitFor();
    }
    await keep(page, "nothing-1440");
    expect(faults).toEqual([]);
  });

  it("says which programs are down or not ready, and why", async () => {
    const { page, faults } = await show("dead");
    const status = page.getByRole("status");
    await expect.poll(() => status.textContent()).toBe("sequencer rnode, verifier rnode, follower rnode: see below.");
    expect(await page.getByText("it was ended by SIGKILL; log: data/devnet/logs/follower-rnode.log").first().isVisible()).toBe(
      true,
    );
    await page.getByText("finding the heads: the engine does not answer").first().waitFor();
    expect(await page.getByRole("alert").textContent()).toContain("sequencer rnode is down");
    // the last known value is still shown
    await page.getByText("3,742").first().waitFor();
    await keep(page, "dead-1440");
    expect(faults).toEqual([]);
  });

  it("shows the block under construction, and the streams of its parts", async () => {
    const { page, faults } = await show("data");
    const panel = page.getByRole("region", { name: "Subblocks" });
    await panel.getByText("This node publishes.").waitFor();
    expect(await panel.locator("dd").allTextContents()).toEqual(["3,743built here", "4the latest 140 ms ago", "2", "0"]);
    await page.getByRole("radio", { name: "verifier" }).check();
    await panel.getByText("This node follows 1 stream.").waitFor();
    expect((await panel.locator("dd").allTextContents()).at(-1)).toBe("3");
    expect(faults).toEqual([]);
  });

  it("shows which of several sequencers leads, and what is wrong with the others", async () => {
    const { page, faults } = await show("cluster");
    await page.getByText("sequencer2 rconductor leads.").waitFor();
    const rows = page.getByRole("region", { name: "Sequencers" }).getByRole("row");
    const cellsOf = (name: string): Promise<string[]> => rows.filter({ hasText: name }).locator("th, td").allTextContents();
    expect(await cellsOf("sequencer1")).toEqual([
      ...["sequencer1 rconductor", "follows", "stopped", "stalled", "3,742", "491", "paused"],
      "the unsafe head has been at 3736 for 4 s",
    ]);
    expect((await cellsOf("sequencer2")).slice(1, 7)).toEqual(["leads", "active", "healthy", "3,742", "491", "running"]);
    expect((await cellsOf("sequencer3"))[1]).toBe("down");
    await keep(page, "cluster-1440");
    expect(faults).toEqual([]);
  });

  it("shows the chains of a set, what waits for what, and messages between them", async () => {
    const { page, faults } = await show("set");
    await page.getByText(/^Waits for chain 902 up to time \d+\.$/).waitFor();
    const heads = page.getByRole("region", { name: "Heads of each chain" }).getByRole("row");
    const cellsOf = (row: number): Promise<string[]> => heads.nth(row).locator("th, td").allTextContents();
    expect(await cellsOf(1)).toEqual(["901", "3,742", "3,741", "3,736", "3,729", "3,669", "chain 902, with 7 blocks"]);
    expect(await cellsOf(2)).toEqual(["902", "3,740", "3,739", "3,727", "3,727", "3,667", "its batches on L1"]);
    await page.getByText("Verified messages: 901 → 902 17, 902 → 901 4").waitFor();
    expect(await page.getByRole("region", { name: "Replaced blocks" }).getByRole("row").count()).toBe(2);
    await page.getByRole("radio", { name: "902 sequencer" }).waitFor();
    await keep(page, "set-1440");
    expect(faults).toEqual([]);
  });

  it("leads to the verifier, which knows the node that is seen, and runs here", async () => {
    const { page, faults } = await show("data");
    await page.getByText("All is well.").waitFor();
    const opening = browser.waitForEvent("page");
    await page.getByRole("link", { name: "Verifier" }).click();
    const verifier = await opening;
    closings.push(() => verifier.close());
    verifier.on("pageerror", (error) => faults.push(error.message));
    verifier.on("console", (message) => void (message.type() === "error" && faults.push(message.text())));
    verifier.on(
      "request",
      (request) => void (new URL(request.url()).origin === new URL(page.url()).origin || faults.push(request.url())),
    );
    await verifier.getByRole("heading", { name: "Verifier" }).waitFor();
    expect(new URL(verifier.url()).pathname).toBe("/verifier/");
    expect(await verifier.getByLabel("Node", { exact: true }).inputValue()).toBe(WITNESS_URL);
    // The worker loads the engine before it reads its input.
    await verifier
      .getByLabel(/or a file of rengine/)
      .first()
      .fill("{");
    await verifier.getByRole("button", { name: "Verify" }).click();
    await verifier.getByText(/is not JSON/).waitFor();
    await keep(verifier, "verifier-1280");
    expect(faults).toEqual([]);
  });

  it("says that the connection is lost, and goes on when the program is back", async () => {
    const source = sampleSource("data");
    const server = await startDashboardServer({ addr: "127.0.0.1", port: 0, vhosts: [] }, readPages(), source);
    const { port } = server;
    const page = await browser.newPage();
    await page.goto(`http://127.0.0.1:${port}/`);
    await page.getByText("All is well.").waitFor();
    await server.close();
    await page.getByText("The connection is lost; trying again.").waitFor();
    await keep(page, "lost-1440");
    const again = await startDashboardServer({ addr: "127.0.0.1", port, vhosts: [] }, readPages(), source);
    await page.getByText("All is well.").waitFor();
    await page.close();
    await again.close();
  });
});
