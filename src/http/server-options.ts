import type { Server } from 'node:http';
import type { FastifyBaseLogger, FastifyHttpOptions } from 'fastify';
import { answerClientError } from './client-error.js';
import { requestIdOf } from './context.js';
import { answerFrameworkError } from './error-handling.js';
import { FaultsOnly } from './logging.js';

/** What the server is told from outside. */
export interface ServerConfig {
  readonly logger: FastifyBaseLogger;
  /** Networks (CIDR) of proxies whose X-Forwarded-For is believed. */
  readonly trustProxy: readonly string[];
}

export const BODY_LIMIT = 1024 * 1024;

/** The options of the Fastify constructor. */
export function serverOptions(config: ServerConfig): FastifyHttpOptions<Server, FastifyBaseLogger> {
  return {
    loggerInstance: config.logger,
    logController: new FaultsOnly(),
    // A child logger for each request costs more than the lines that need one; these name the request themselves.
    childLoggerFactory: (logger) => logger,
    trustProxy: config.trustProxy.length === 0 ? false : [...config.trustProxy],
    genReqId: requestIdOf,
    requestIdHeader: false,
    bodyLimit: BODY_LIMIT,
    // Receiving a request, not answering it: waiting calls and streams live as long as they need.
    requestTimeout: 5_000,
    // A socket on which nothing moves; longer than any wait and than the pulse of a stream.
    connectionTimeout: 120_000,
    // Longer than the idle time of common load balancers, or they reuse a connection that is being closed.
    keepAliveTimeout: 65_000,
    http: { headersTimeout: 3_000, connectionsCheckingInterval: 500, requireHostHeader: false },
    frameworkErrors: answerFrameworkError,
    clientErrorHandler: answerClientError,
    // Fastify's own answer while closing is no problem document; the first hook gives one.
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    routerOptions: { maxParamLength: 512, ignoreTrailingSlash: false, caseSensitive: true },
  };
}
