export interface HealthReport {
  readonly isHealthy: boolean;
  /** the query is not understood */
  readonly isBadRequest?: boolean;
  /** plain JSON */
  readonly body: unknown;
}

/** Answers a health check, perhaps after asking another process. */
export type Probe = (query: URLSearchParams) => HealthReport | Promise<HealthReport>;

export const statusOfHealth = ({ isHealthy, isBadRequest }: HealthReport): number => (isBadRequest ? 400 : isHealthy ? 200 : 503);
