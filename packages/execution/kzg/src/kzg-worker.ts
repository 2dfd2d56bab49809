import { serveWorker, startData } from "@rnode/threads/serve";
import { createKzgContext } from "./context.ts";
import type { KzgThreadData, Told } from "./kzg-threads.ts";
import { KzgAnswerer, type KzgQuestion } from "./questions.ts";

// The thread of `KzgThreads`. Its first question that needs the trusted setup waits for two seconds.

const { precompute } = startData<KzgThreadData>();
const answerer = new KzgAnswerer(() => createKzgContext(precompute));

serveWorker<KzgQuestion, Told>((question) => ({ answer: { told: answerer.answer(question) }, transfer: [] }));
