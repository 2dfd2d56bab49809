import { serveWorker, startData } from "@rnode/worker-host/serve";
import { createKzgContext } from "./context.ts";
import type { KzgThreadData, Told } from "./kzg-threads.ts";
import { answerQuestion, type KzgQuestion } from "./questions.ts";

// The thread of `KzgThreads`. It loads the trusted setup (two seconds) before it takes its first question.

const context = createKzgContext(startData<KzgThreadData>().precompute);

serveWorker<KzgQuestion, Told>((question) => ({ answer: { told: answerQuestion(context, question) }, transfer: [] }));
