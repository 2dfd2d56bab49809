import type { CheckResult } from "../check/run-check.ts";
import type { Step } from "../check/steps.ts";

/** From the worker to the page. */
export type WorkerMessage =
  /** a request may be sent */
  | { readonly kind: "ready" }
  | { readonly kind: "step"; readonly step: Step }
  | { readonly kind: "result"; readonly result: CheckResult }
  | { readonly kind: "fault"; readonly text: string };
