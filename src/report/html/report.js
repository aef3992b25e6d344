'use strict';
// Search and filters: parts that do not hold the words, or are in no chosen state, are hidden; folded parts that hold the
// words are opened.
const field = document.getElementById('search');
const count = document.getElementById('count');
const items = [...document.querySelectorAll('.item')];
const texts = items.map((item) => item.textContent.toLowerCase());
const folds = [...document.querySelectorAll('details')];
const states = new Map(items.map((item) => [item, [...item.closest('section').querySelectorAll('.filters button')]]));
let hit = -1;
const initially = folds.map((fold) => fold.open);

function search() {
  const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0;
  items.forEach((item, index) => {
    const chosen = states.get(item).filter((button) => button.ariaPressed === 'true');
    const fits = words.every((word) => texts[index].includes(word))
      && (chosen.length === 0 || chosen.some((button) => button.dataset.filter === item.dataset.state));
    item.hidden = !fits;
    shown += fits ? 1 : 0;
  });
  folds.forEach((fold, index) => {
    fold.open = words.length > 0 ? !fold.closest('[hidden]') : initially[index];
  });
  document.querySelectorAll('section').forEach((section) => {
    const inside = [...section.querySelectorAll('.item')];
    section.hidden = inside.length > 0 && inside.every((item) => item.hidden);
  });
  const first = words.length > 0 && items.find((item) => !item.hidden);
  if (first) first.scrollIntoView({ block: 'nearest' });
  mark(-1);
  count.textContent = words.length > 0 ? shown + ' of ' + items.length : '';
}

function mark(index, shown = []) {
  hit = index;
  items.forEach((item) => item.classList.toggle('hit', item === shown[index]));
}

// Goes to the next part that holds the words, or to the one before; after the last comes the first.
function go(step) {
  const shown = items.filter((item) => item.checkVisibility());
  if (field.value.trim() === '' || shown.length === 0) return;
  mark(hit < 0 && step < 0 ? shown.length - 1 : (hit + step + shown.length) % shown.length, shown);
  shown[hit].scrollIntoView({ block: 'center' });
}

function jump() {
  const target = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
  if (!target) return;
  const isOne = target.classList.contains('item');
  if (isOne && target.hidden) { field.value = ''; document.querySelectorAll('.filters button').forEach((button) => { button.ariaPressed = 'false'; }); search(); }
  if (isOne) target.querySelectorAll('details').forEach((fold) => { fold.open = true; });
  target.scrollIntoView({ block: isOne ? 'center' : 'start' });
}

field.addEventListener('input', search);
document.querySelectorAll('.filters button').forEach((button) => button.addEventListener('click', () => {
  button.ariaPressed = button.ariaPressed === 'true' ? 'false' : 'true';
  search();
}));
document.getElementById('unfold').addEventListener('click', () => {
  const open = folds.some((fold) => !fold.open);
  folds.forEach((fold) => { fold.open = open; });
});
document.addEventListener('keydown', (event) => {
  if (event.key === '/' && document.activeElement !== field) { event.preventDefault(); field.focus(); }
  if (event.key === 'Enter' && document.activeElement === field) { event.preventDefault(); go(event.shiftKey ? -1 : 1); }
  if (event.key === 'Escape' && document.activeElement === field) { field.value = ''; search(); }
});
// Nobody can unfold a sheet of paper.
let closed = [];
window.addEventListener('beforeprint', () => {
  closed = folds.filter((fold) => !fold.open);
  closed.forEach((fold) => { fold.open = true; });
});
window.addEventListener('afterprint', () => { closed.forEach((fold) => { fold.open = false; }); });
window.addEventListener('hashchange', jump);
jump();
