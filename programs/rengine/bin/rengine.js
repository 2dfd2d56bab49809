#!/usr/bin/env node
import { launch } from "@rnode/program/launch";

await launch("rengine", () => import("../lib/main.js"));
