import { render } from "preact";
import { App } from "./app.tsx";
import { connect } from "./connect.ts";
import { Store } from "./store.ts";

const store = new Store();
render(<App store={store} listen={(onChange) => connect(store, onChange)} />, document.getElementById("app")!);
