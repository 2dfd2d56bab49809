#!/usr/bin/env node
import { launch } from "@rnode/program/launch";

await launch("rnode", () => import("../lib/main.js"));
