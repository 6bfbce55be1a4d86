/** Who sends: the key, and the run it works in where it names one. */
export interface Worker {
  readonly key: string;
  readonly runId?: string;
}

/** One slice of load, as the client process is told it. */
export interface Job {
  readonly kind: 'claims' | 'reviews' | 'loops';
  readonly port: number;
  /** Each connection is one of them, by turns. */
  readonly workers: readonly Worker[];
  readonly reviewerKey: string;
  readonly connections: number;
  /** Sent, and not counted. */
  readonly warmUpMs: number;
  readonly ms: number;
}

/** What came of a slice. `done` counts claims, or whole loops. */
export interface Outcome {
  readonly done: number;
  readonly seconds: number;
  /** Of one claim, or of one whole loop, in milliseconds. */
  readonly median: number;
  readonly p99: number;
}
