#!/usr/bin/env node
import { launch } from "@rnode/program/launch";

await launch("rconductor", () => import("../lib/main.js"));
