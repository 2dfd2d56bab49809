#!/usr/bin/env node
import { exitWith } from "@rnode/program";
import { main } from "../dist/main.js";

await exitWith(main);
