import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Refusal } from '../kernel/refusal.js';
import { sendProblem } from './problem.js';

/** Looks at a request on its way in: lets it pass with null, or refuses it. */
export type Gate = (request: FastifyRequest, reply: FastifyReply) => Refusal | null;

/** A gate that may have to ask somebody first. */
export type AskingGate = (
  request: FastifyRequest,
  reply: FastifyReply,
) => Refusal | null | Promise<Refusal | null>;

/**
 * Hangs a gate into a phase of the request. One hook a phase, with its gates called one after the other: each further
 * hook would cost as much as what it does.
 */
export function hangGate(app: FastifyInstance, phase: 'onRequest' | 'preValidation', gate: AskingGate): void {
  app.addHook(phase, (request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void) => {
    const verdict = gate(request, reply);
    if (verdict === null) done();
    else if (verdict instanceof Promise)
      verdict.then((refusal) => conclude(request, reply, refusal, done), done);
    else sendProblem(reply, request, verdict);
  });
}

function conclude(
  request: FastifyRequest,
  reply: FastifyReply,
  refusal: Refusal | null,
  done: (error?: Error) => void,
): void {
  if (refusal === null) done();
  else sendProblem(reply, request, refusal);
}
