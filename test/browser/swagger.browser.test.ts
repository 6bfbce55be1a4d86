import { mkdir } from 'node:fs/promises';
import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApp, type TestApp } from '../support/app.js';
import { findChromium, startChromium } from './chromium.js';

const chromium = findChromium();
if (chromium === null)
  console.warn(
    'No Chromium found, so Swagger UI is not tried. Install one, or name it in FUSEBOARD_TEST_CHROMIUM.',
  );

/** With FUSEBOARD_TEST_SCREENSHOTS, pictures of each step are left in that folder. */
const pictures = process.env.FUSEBOARD_TEST_SCREENSHOTS;

describe.skipIf(chromium === null)('Swagger UI', () => {
  let app: TestApp;
  let browser: Browser;
  let page: Page;
  const faults: string[] = [];

  beforeAll(async () => {
    app = await startTestApp();
    browser = await startChromium(chromium ?? '');
    page = await browser.newPage({ viewport: { width: 1280, height: 1000 } });
    page.on('pageerror', (error) => faults.push(error.message));
    page.on('console', (message) => {
      if (message.type() === 'error') faults.push(message.text());
    });
    await page.goto(`${app.url}/docs`);
    await page.locator('.opblock').first().waitFor();
    if (pictures !== undefined) await mkdir(pictures, { recursive: true });
  });
  afterAll(async () => {
    await browser.close();
    await app.close();
  });

  async function picture(name: string): Promise<void> {
    if (pictures !== undefined) await page.screenshot({ path: `${pictures}/${name}.png` });
  }

  async function authorize(key: string): Promise<void> {
    await page.locator('.scheme-container .authorize').click();
    const dialog = page.locator('.dialog-ux');
    const logout = dialog.getByRole('button', { name: 'Remove authorization' });
    if (await logout.isVisible()) await logout.click();
    await dialog.locator('input').fill(key);
    await dialog.locator('.modal-btn.authorize').click();
    await dialog.locator('.btn-done').click();
  }

  function operation(id: string): Locator {
    return page.locator(`.opblock[id$="-${id}"]`);
  }

  /** Opens an operation, fills in the path, and sends the example as it stands there. */
  async function send(
    id: string,
    path: Record<string, string> = {},
  ): Promise<{ status: string; body: string }> {
    const block = operation(id);
    await block.locator('.opblock-summary-control').click();
    for (const [name, value] of Object.entries(path))
      await block.locator(`tr[data-param-name="${name}"][data-param-in="path"] input`).fill(value);
    await block.locator('button.execute').click();
    const answer = block.locator('.live-responses-table .response').first();
    await answer.waitFor();
    const status = ((await answer.locator('.response-col_status').textContent()) ?? '').trim();
    const body = await answer.locator('.highlight-code code').first().textContent();
    await picture(id);
    await block.locator('.opblock-summary-control').click();
    return { status, body: body ?? '' };
  }

  it('lists every call, under its room', async () => {
    await picture('docs');
    const shown = await page.locator('.opblock').count();
    const paths: Record<string, object> = (await app.app.inject('/openapi.json')).json().paths;
    const described = Object.values(paths).flatMap((item) => Object.keys(item)).length;
    expect(shown).toBe(described);
  });

  it('takes a task from its creation to its end, by the examples as they stand there', async () => {
    await authorize(app.keys.operator);
    const hired = await send('create_agent');
    expect(hired.status).toBe('201');
    const { api_key } = JSON.parse(hired.body);

    const created = await send('create_task');
    expect(created.status).toBe('201');
    const { id } = JSON.parse(created.body);

    await authorize(api_key);
    expect(JSON.parse((await send('claim_task', { id })).body)).toMatchObject({ lease_token: 1 });
    expect(JSON.parse((await send('submit_task', { id })).body)).toMatchObject({ state: 'in_review' });

    await authorize(app.keys.operator);
    expect(JSON.parse((await send('approve_task', { id })).body)).toMatchObject({ state: 'done' });
  });

  it('shows a refusal with its code and what to do', async () => {
    const refused = await send('get_task', { id: 'task_01939b1e-7c4a-7f3e-8a2b-5d6c7e8f9a0b' });
    expect(refused.status).toBe('404');
    expect(JSON.parse(refused.body)).toMatchObject({ code: 'not_found', type: '/problems/not_found' });
  });

  it('runs without an error of its own', () => {
    expect(faults.filter((text) => !text.includes('404'))).toEqual([]);
  });
});
