/** Lines around a change. */
const AROUND = 3;
/** Pairs of lines that are compared at most; beyond, a part counts as wholly other. */
const PAIRS_MAX = 4_000_000;

type Step = { sign: ' ' | '-' | '+'; line: string };

/** Returns the lines of a unified diff between two texts; none when they are equal. */
export function unified(before: string, after: string): string[] {
  const steps = compare(before.split('\n'), after.split('\n'));
  const near = steps.map((_, at) => steps.slice(Math.max(0, at - AROUND), at + AROUND + 1).some(({ sign }) => sign !== ' '));
  const lines: string[] = [];
  let [old, now] = [1, 1];
  steps.forEach(({ sign, line }, at) => {
    if (near[at]) {
      if (!near[at - 1]) lines.push(`@@ -${old} +${now} @@`);
      lines.push(sign + line);
    }
    if (sign !== '+') old += 1;
    if (sign !== '-') now += 1;
  });
  return lines;
}

function compare(before: string[], after: string[]): Step[] {
  let head = 0;
  while (head < before.length && head < after.length && before[head] === after[head]) head += 1;
  let tail = 0;
  while (tail < before.length - head && tail < after.length - head && before.at(-1 - tail) === after.at(-1 - tail)) tail += 1;
  const same = (line: string): Step => ({ sign: ' ', line });
  return [
    ...before.slice(0, head).map(same),
    ...middle(before.slice(head, before.length - tail), after.slice(head, after.length - tail)),
    ...before.slice(before.length - tail).map(same),
  ];
}

/** Compares by the longest lines in common. */
function middle(before: string[], after: string[]): Step[] {
  const [rows, columns] = [before.length, after.length];
  const removed = (line: string): Step => ({ sign: '-', line });
  const added = (line: string): Step => ({ sign: '+', line });
  if (rows * columns === 0 || rows * columns > PAIRS_MAX) return [...before.map(removed), ...after.map(added)];
  const width = columns + 1;
  const common = new Uint32Array((rows + 1) * width);
  const at = (row: number, column: number): number => common[row * width + column] ?? 0;
  for (let row = rows - 1; row >= 0; row -= 1) {
    for (let column = columns - 1; column >= 0; column -= 1) {
      common[row * width + column] =
        before[row] === after[column] ? at(row + 1, column + 1) + 1 : Math.max(at(row + 1, column), at(row, column + 1));
    }
  }
  const steps: Step[] = [];
  let [row, column] = [0, 0];
  while (row < rows || column < columns) {
    const [old, now] = [before[row] ?? '', after[column] ?? ''];
    if (row < rows && column < columns && old === now) {
      steps.push({ sign: ' ', line: old });
      row += 1;
      column += 1;
    } else if (column >= columns || (row < rows && at(row + 1, column) >= at(row, column + 1))) {
      steps.push(removed(old));
      row += 1;
    } else {
      steps.push(added(now));
      column += 1;
    }
  }
  return steps;
}
