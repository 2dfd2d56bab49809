#!/usr/bin/env node
import { launch } from "@rnode/program/launch";

await launch("rengine", () => import("../dist/main.js"));
