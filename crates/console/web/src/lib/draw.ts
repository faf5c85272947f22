import type { Fold, Group, Item, Marks, NodeMark, Scene } from './contract';

const SVG = 'http://www.w3.org/2000/svg';
const FLAG_HEIGHT = 18;

export interface DrawnNode {
  id: string;
  name: string;
  title: string;
  /** x, y, width, height in the scene. */
  area: [number, number, number, number];
  element: SVGGElement;
  /** By which it is opened, folded and put into groups; null: it is no state of its own. */
  key: string | null;
  fold: Fold | null;
  /** The nodes that it stands for as well. */
  also: string[];
  /** What the pointer and a screen reader are told. */
  told: SVGTitleElement;
}

interface DrawnEdge {
  from: string;
  to: string;
  also: string[];
  element: SVGGElement;
  label: SVGGElement | null;
}

/** A scene as elements, with what is needed to mark them later. */
export interface Drawn {
  root: SVGGElement;
  nodes: Map<string, DrawnNode>;
  edges: Map<string, DrawnEdge>;
}

function make<Name extends keyof SVGElementTagNameMap>(name: Name, values: Record<string, string | number>): SVGElementTagNameMap[Name] {
  const element = document.createElementNS(SVG, name) as SVGElementTagNameMap[Name];
  for (const [key, value] of Object.entries(values)) element.setAttribute(key, String(value));
  return element;
}

function text(x: number, y: number, value: string, kind: string): SVGTextElement {
  const element = make('text', { x, y, class: kind });
  element.textContent = value;
  return element;
}

/** Letters, and how wide the layout takes them to be, in hundredths of their size: see crates/graph/src/svg/text.rs. */
const SAMPLE = 'the quick brown fox jumps over the lazy dog';
const SAMPLE_WIDTH = 2_174;

let fitting: number | undefined;

/** Returns by how much letters have to be smaller so that they are as wide as the layout takes them to be. */
export function lettersFit(): number {
  if (fitting !== undefined) return fitting;
  const context = document.createElement('canvas').getContext('2d');
  if (!context) return 1;
  context.font = `600 100px ${getComputedStyle(document.documentElement).getPropertyValue('--sans')}`;
  const width = context.measureText(SAMPLE).width;
  fitting = width > 0 ? Math.min(1, SAMPLE_WIDTH / width) : 1;
  return fitting;
}

/** Makes the elements of a scene, once; every node becomes an item of a tree. */
export function draw(scene: Scene): Drawn {
  const drawn: Drawn = { root: make('g', {}), nodes: new Map(), edges: new Map() };
  const labels = new Map<string, SVGGElement>();
  for (const item of scene.items) drawn.root.append(element(item, drawn, labels));
  for (const [id, label] of labels) {
    const edge = drawn.edges.get(id);
    if (edge) edge.label = label;
  }
  return drawn;
}

function element(item: Item, drawn: Drawn, labels: Map<string, SVGGElement>): SVGElement {
  if ('group' in item) return group(item, drawn, labels);
  const shape = { class: item.class };
  if ('rect' in item) {
    const [x, y, width, height, rx] = item.rect;
    return make('rect', { x, y, width, height, rx, ...shape });
  }
  if ('circle' in item) {
    const [cx, cy, r] = item.circle;
    return make('circle', { cx, cy, r, ...shape });
  }
  if ('path' in item) return make('path', { d: item.path, ...shape });
  return text(item.text[0], item.text[1], item.value, item.class);
}

function group(item: Group, drawn: Drawn, labels: Map<string, SVGGElement>): SVGGElement {
  const made = make('g', { class: item.class });
  const title = make('title', {});
  title.textContent = item.title ?? '';
  if (item.title) made.append(title);
  let inner: SVGGElement = made;
  for (const part of item.items) {
    // What lies inside a node comes in a group of the tree, with the lanes around it.
    if (inner === made && item.group === 'node' && 'group' in part) {
      inner = make('g', { role: 'group' });
      made.append(inner);
    }
    inner.append(element(part, drawn, labels));
  }
  const { id } = item;
  if (item.group === 'node') {
    const name = item.name || item.title;
    if (!id || !name || !item.area) return made;
    made.setAttribute('role', 'treeitem');
    made.setAttribute('aria-selected', 'false');
    made.dataset['node'] = id;
    const fold = item.fold ?? null;
    drawn.nodes.set(id, { id, name, title: item.title ?? name, area: item.area, element: made, told: title, key: item.key ?? null, fold, also: item.also ?? [] });
    if (fold) {
      made.setAttribute('aria-expanded', String(fold.open));
      made.append(toggle(item.area, fold));
    }
  } else if (item.group !== 'machine') {
    made.setAttribute('aria-hidden', 'true');
    if (id && item.group === 'label') labels.set(id, made);
    else if (id) drawn.edges.set(id, { from: item.from ?? '', to: item.to ?? '', also: item.also ?? [], element: made, label: null });
  }
  return made;
}

/** Returns what is clicked to open or fold a node, at its upper right corner. */
function toggle([x, y, width]: [number, number, number, number], { open }: Fold): SVGGElement {
  const made = make('g', { class: 'toggle', 'aria-hidden': 'true' });
  const [cx, cy] = [x + width - 3, y + 3];
  made.append(make('circle', { cx, cy, r: 9 }), make('path', { d: `M${cx - 4} ${cy}h8${open ? '' : `M${cx} ${cy - 4}v8`}` }));
  return made;
}

/** Returns the mark of a node, or of all that are drawn as it: those of a machine inside of a call are the machine's. */
function markOf({ id, also }: DrawnNode, { nodes }: Marks): NodeMark | undefined {
  const own = (one: string): NodeMark | undefined => {
    const parts = one.split('>');
    const found = nodes[parts.at(-1) ?? ''];
    const calls = parts.slice(0, -1);
    // Of several calls of a machine, the run goes on in the one that it stands in.
    return found && calls.some((call) => !nodes[call]?.inside) ? { ...found, here: 0, parked: 0, inside: false, words: null } : found;
  };
  const all = [id, ...also].map(own).filter((mark) => mark !== undefined);
  const [first] = all;
  if (!first || all.length === 1) return first;
  return {
    here: all.reduce((sum, mark) => sum + mark.here, 0),
    parked: all.reduce((sum, mark) => sum + mark.parked, 0),
    inside: all.some((mark) => mark.inside),
    interrupted: all.some((mark) => mark.interrupted),
    visited: all.some((mark) => mark.visited),
    over: all.some((mark) => mark.over),
    words: all.find((mark) => mark.words)?.words ?? null,
  };
}

const last = (id: string): string => id.split('>').at(-1) ?? '';

/** Nodes and edges that are not as in another run, by id. */
export interface Differs {
  nodes: Set<string>;
  edges: Set<string>;
}

/** Shows on the elements of a scene what goes on at one moment. */
export function mark({ nodes, edges }: Drawn, marks: Marks, differs: Differs | null = null): void {
  for (const [id, node] of nodes) {
    const now = markOf(node, marks);
    const here = now !== undefined && (now.here > 0 || now.inside);
    node.element.classList.toggle('visited', now?.visited ?? false);
    node.element.classList.toggle('here', here);
    const other = differs?.nodes.has(id) ?? false;
    node.element.classList.toggle('differs', other);
    const told = [node.title, now?.words, now?.visited && !here ? 'visited' : '', other ? 'differs from the other run' : '']
      .filter(Boolean)
      .join(' – ');
    if (node.told.textContent !== told) node.told.textContent = told;
    setFlag(node, now);
  }
  for (const [id, edge] of edges) {
    const taken = [id, ...edge.also].reduce((sum, one) => sum + (marks.edges[last(one)] ?? 0), 0);
    edge.element.classList.toggle('taken', taken > 0);
    edge.element.classList.toggle('differs', differs?.edges.has(id) ?? false);
    setTimes(edge, taken);
  }
}

function setFlag({ element: made, area }: DrawnNode, now: NodeMark | undefined): void {
  const old = made.querySelector(':scope > .words');
  const words = now?.words ?? '';
  const kind = now?.parked ? ' flag-parked' : now?.interrupted && !now.here ? ' flag-interrupted' : '';
  const key = kind + words;
  if (old?.getAttribute('data-key') === key) return;
  old?.remove();
  if (!words) return;
  const x = area[0] + 10;
  const y = area[1] - FLAG_HEIGHT / 2;
  const flag = make('g', { class: 'words', 'data-key': key, 'aria-hidden': 'true' });
  const letters = text(x + 9, y + 12.8, words, 'flag-text');
  flag.append(letters);
  made.append(flag);
  const width = letters.getComputedTextLength() + 18;
  flag.prepend(make('rect', { class: `flag${kind}`, x, y, width, height: FLAG_HEIGHT, rx: FLAG_HEIGHT / 2 }));
}

function setTimes(edge: DrawnEdge, taken: number): void {
  const place = edge.label ?? edge.element;
  let times = place.querySelector<SVGTextElement>(':scope > .times');
  if (taken < 2) {
    times?.remove();
    return;
  }
  if (!times) {
    const [x, y] = besides(edge);
    times = text(x, y, '', 'times');
    place.append(times);
  }
  times.textContent = `×${taken}`;
}

/** Returns where the number of an edge is written: at the right of its label, or of the middle of its line. */
function besides({ element: made, label }: DrawnEdge): [number, number] {
  const pill = label?.querySelector('rect');
  if (pill) {
    const { x, y, width, height } = pill.getBBox();
    return [x + width + 4, y + height / 2 + 4];
  }
  const line = made.querySelector('path');
  if (!line) return [0, 0];
  const { x, y } = line.getPointAtLength(line.getTotalLength() / 2);
  return [x + 6, y + 4];
}
