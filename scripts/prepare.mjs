// Runs before `npm start` and `npm test`: installs and builds what is missing, with a message. If nothing is missing, it takes
// well under a second.
import { buildPrograms } from "./lib/build-steps.mjs";
import { installWhatIsLocked } from "./lib/install.mjs";

installWhatIsLocked();
buildPrograms();
