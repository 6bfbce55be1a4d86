import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { REFUSAL_CODES, type Refusal, type RefusalCode } from '../kernel/refusal.js';
import { escapeHtml, htmlPage, inlineHtml, sendHtml } from './html.js';
import { preferredType } from './negotiate.js';
import { PROBLEMS } from './problem.js';
import { EXPLANATIONS } from './problem-texts.js';
import { sendJson } from './respond.js';

const FORMS = ['text/html', 'application/json', 'text/markdown'] as const;

const NO_FORM: Refusal = {
  code: 'not_acceptable',
  detail: `The pages about problems exist as ${FORMS.join(', ')}.`,
  facts: { forms: [...FORMS] },
};

/** One text in each form that these pages have. */
interface Document {
  readonly html: () => string;
  readonly json: () => unknown;
  readonly markdown: () => string;
}

function entryOf(code: RefusalCode): Record<string, unknown> {
  const { status, title, retryable } = PROBLEMS[code];
  return { type: `/problems/${code}`, code, status, title, retryable, explanation: EXPLANATIONS[code] };
}

function pageOf(code: RefusalCode): Document {
  const { status, title, retryable } = PROBLEMS[code];
  const again = retryable
    ? 'The same request can succeed later by itself.'
    : 'The same request will not succeed by itself.';
  return {
    html: () =>
      htmlPage(
        title,
        `<h1>${escapeHtml(title)}</h1>\n<p><code>${code}</code>, status ${status}. ${again}</p>\n` +
          `<p>${inlineHtml(EXPLANATIONS[code])}</p>\n<p><a href="/problems">All problems</a></p>`,
      ),
    json: () => entryOf(code),
    markdown: () => `# ${title}\n\n\`${code}\`, status ${status}. ${again}\n\n${EXPLANATIONS[code]}\n`,
  };
}

function indexRow(code: RefusalCode): string {
  const { status, title } = PROBLEMS[code];
  return `<tr><td>${status}</td><td><a href="/problems/${code}"><code>${code}</code></a></td><td>${escapeHtml(title)}</td></tr>`;
}

const INDEX: Document = {
  html: () =>
    htmlPage(
      'Problems',
      '<h1>Problems</h1>\n<p>Every answer from status 400 on is one of these. Its <code>type</code> leads to the page.</p>\n' +
        '<table>\n<thead><tr><th scope="col">Status</th><th scope="col">Code</th><th scope="col">Meaning</th></tr></thead>\n' +
        `<tbody>\n${REFUSAL_CODES.map(indexRow).join('\n')}\n</tbody>\n</table>`,
    ),
  json: () => ({ data: REFUSAL_CODES.map(entryOf) }),
  markdown: () =>
    `# Problems\n\n${REFUSAL_CODES.map((code) => `- [\`${code}\`](/problems/${code}) ${PROBLEMS[code].status}: ${PROBLEMS[code].title}`).join('\n')}\n`,
};

function send(request: FastifyRequest, reply: FastifyReply, document: Document): FastifyReply {
  reply.header('vary', 'accept');
  switch (preferredType(request.headers.accept, FORMS)) {
    case 'text/html':
      return sendHtml(reply, document.html());
    case 'application/json':
      return sendJson(reply, 200, JSON.stringify(document.json()));
    case 'text/markdown':
      return reply.type('text/markdown; charset=utf-8').send(document.markdown());
    case null:
      return reply.refuse(NO_FORM);
  }
}

function isRefusalCode(code: string): code is RefusalCode {
  return Object.hasOwn(PROBLEMS, code);
}

/** The pages that the `type` of a problem leads to. */
export function serveProblemPages(app: FastifyInstance): void {
  const config = { roles: 'public' } as const;
  app.get('/problems', { config, schema: { hide: true } }, (request, reply) => send(request, reply, INDEX));
  app.get<{ Params: { code: string } }>(
    '/problems/:code',
    { config, schema: { hide: true } },
    (request, reply) => {
      const { code } = request.params;
      if (isRefusalCode(code)) return send(request, reply, pageOf(code));
      const detail = 'There is no problem of this name. /problems lists all there are.';
      return reply.refuse({ code: 'not_found', detail });
    },
  );
}
