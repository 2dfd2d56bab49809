// `npm pack` in the root would pack the workspace, of which nothing runs.
console.error("this folder is a workspace: `npm run package` makes the package with all programs (build/rnode-<version>.tgz)");
process.exit(1);
