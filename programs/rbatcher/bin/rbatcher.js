#!/usr/bin/env node
import { launch } from "@rnode/program/launch";

await launch("rbatcher", () => import("../lib/main.js"));
