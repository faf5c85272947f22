import { mount } from 'svelte';

import '../src/styles/tokens.css';
import '../src/styles/base.css';
import '../src/styles/graph.css';
import App from './App.svelte';

const target = document.getElementById('app');
if (target) mount(App, { target });
