// Where the page begins.
import { mount } from "svelte";
import "./app.css";
import App from "./App.svelte";
import { applyTheme } from "./theme.svelte";

applyTheme();
const target = document.getElementById("app");
if (target) mount(App, { target });
