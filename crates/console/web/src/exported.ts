import { mount } from 'svelte';

import './styles/tokens.css';
import './styles/base.css';
import './styles/graph.css';
import Exported from './pages/Exported.svelte';
import { useRecording } from './lib/api';
import type { Recording } from './lib/recorded';

const target = document.getElementById('app');
const text = document.getElementById('recording')?.textContent;
if (target && text) {
  const recording = JSON.parse(text) as Recording;
  useRecording(recording);
  mount(Exported, { target, props: { recording } });
}
