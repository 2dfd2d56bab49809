export type * from "./messages.ts";
export * from "./options.ts";
export { type DashboardSource, startDashboardServer } from "./server/dashboard-server.ts";
export { feedStatus } from "./server/feed-status.ts";
export { openDashboard } from "./server/open-dashboard.ts";
export { readPages } from "./server/page-files.ts";
export { UpstreamFeed } from "./server/upstream-feed.ts";
