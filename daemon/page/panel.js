// SPDX-License-Identifier: BSD-2-Clause
// Beside the picture: what is hidden, and the editor of regions and filters.

import {filterSchema, mayBe} from './api.js';
import {applyDraft} from './apply.js';
import {createCheck} from './check.js';
import {h, setText} from './dom.js';
import * as drafts from './draft.js';
import {hiddenPart} from './format.js';
import {newFilter} from './forms.js';
import {createKeep} from './keep.js';
import * as kept from './kept.js';
import {createLayerCard} from './layers.js';
import {say} from './notices.js';
import {Overlay} from './overlay.js';
import {createPreview, previewChain} from './preview.js';
import {createReadOnly, createView, focusIn} from './panelview.js';
import {createTools} from './tools.js';

const LATE_MS = 3000;
const PAUSE_MS = 600;   // between two changes that are undone one by one
const MOST_UNDONE = 50;

export function createFilterPanel(name, stage) {
    return mayBe('operate') ? new Editor(name, stage) : createReadOnly();
}

class Editor {
    constructor(name, stage) {
        this.name = name;
        this.draft = kept.load(name);
        this.selected = null; // a shape
        this.open = '?';      // the id of the layer whose card is open
        this.schema = null;
        this.appliedAt = 0;
        this.problem = null;  // of the last check: {layer, filter, option, text}
        this.past = [];       // snapshots before each change, the newest last
        this.present = '';    // the snapshot now
        this.changedAt = 0;
        this.onKey = (event) => this.undoKey(event);
        document.addEventListener('keydown', this.onKey);
        this.check = createCheck(name, (answer, problem) => this.checked(answer, problem));
        this.keep = createKeep(name);
        this.preview = createPreview(stage.frame, () => this.draft,
            (text) => setText(this.view.error, text));
        this.view = createView({
            hideAll: () => this.addFilter(null),
            hideOnly: () => this.hideOnly(),
            apply: () => this.apply(),
            discard: () => this.discard(),
        }, this.keep.element, this.preview.toggle);
        this.element = this.view.element;
        this.createOverlay(stage);
        filterSchema().then((schema) => {
            this.schema = schema;
            this.render();
        }, (error) => setText(this.view.error, error.message));
        this.forgetPast();
        if (this.draft)
            this.render();
    }

    createOverlay(stage) {
        this.overlay = new Overlay({
            items: () => this.items(),
            selected: () => this.selected,
            select: (shape) => this.select(shape),
            changed: (shape) => this.shapeChanged(shape),
            created: (shape) => this.addFilter(shape),
            remove: (shape) => this.removeShape(...this.ownerOf(shape), shape),
            toolChanged: (tool, corners) => this.tools?.show(tool, corners),
            dragBegins: () => (this.changedAt = 0),
        });
        this.tools = createTools({
            choose: (tool) => this.overlay.setTool(tool),
            place: (shape) => this.addFilter(shape),
            finish: () => this.overlay.finishPolygon(),
            outlines: (on) => this.overlay.element.classList.toggle('off', !on),
        });
        stage.frame.append(this.overlay.element);
        stage.bar.prepend(this.tools.element);
    }

    // Called with each status; `stream` is undefined while the stream does not exist.
    update(stream) {
        this.gone = !stream;
        this.showButtons();
        this.keep.update(stream);
        if (!stream)
            return;
        this.view.now.title = stream.coverage?.words ?? '';
        setText(this.view.now, hiddenPart(stream.coverage));
        this.view.left.show(stream.leaves, stream.hidden);
        if (!this.draft) {
            this.draft = drafts.createDraft(stream);
            kept.store(this.draft);
            this.forgetPast();
            return this.render();
        }
        this.frameKnown(stream);
        if (this.draft.busy || this.isLate(stream) || !this.isNews(stream))
            return;
        this.view.conflict.hidden = !drafts.sync(this.draft, stream);
        this.forgetPast();
        this.render();
    }

    // Just after something was applied, a status may arrive that is older than the answer.
    isLate({revision}) {
        return revision < this.draft.revision && Date.now() - this.appliedAt < LATE_MS;
    }

    isNews(stream) {
        return JSON.stringify([stream.revision, stream.base, stream.hides]) !== this.seen &&
            (this.seen = JSON.stringify([stream.revision, stream.base, stream.hides]));
    }

    // Shapes in pixels can be drawn once the size of the frame is known.
    frameKnown({width, height}) {
        const {frame, layers} = this.draft;
        if (frame.width === width && frame.height === height)
            return;
        this.draft.frame = {width, height};
        for (const filter of layers.filter((l) => !l.touched).flatMap((l) => l.filters))
            drafts.readShapes(filter, this.draft.frame);
        this.render();
    }

    /* ---- layers and shapes ---- */

    context() {
        return {
            schema: this.schema,
            frame: () => this.draft.frame,
            isOpen: (layer) => this.open === layer.id,
            titleOf: (layer) => layer.id === '' ? 'Base filters' : layer.id,
            toggle: (layer) => this.toggle(layer),
            changed: (layer, structure, typing) => this.changed(structure, typing),
            select: (shape) => this.select(shape, false),
            rename: (layer, id) => this.rename(layer, id),
            remove: (layer) => this.act(() => drafts.removeLayer(this.draft, layer)),
            revert: (layer) => this.act(() => drafts.revert(this.draft, layer)),
            removeShape: (layer, filter, shape) => this.removeShape(layer, filter, shape),
        };
    }

    act(change) {
        change();
        this.changed(true);
    }

    toggle(layer) {
        this.open = this.open === layer.id ? '?' : layer.id;
        this.render();
    }

    rename(layer, id) {
        if (this.draft.layers.some((other) => other !== layer && other.id === id))
            return false;
        // The cards stay: a click that takes the focus from the name must find what it was for.
        drafts.rename(this.draft, layer, id);
        this.open = id;
        this.changed(false);
        return true;
    }

    items() {
        const layers = this.draft?.layers.filter((layer) => !layer.removed) ?? [];
        return layers.flatMap((layer) => layer.filters.flatMap((filter) =>
            (filter.shapes ?? []).map((shape) => ({
                shape, label: layer.id || 'Base filters', dashed: layer.id === '',
                editable: layer.id !== '' || mayBe('admin'),
            }))));
    }

    ownerOf(shape) {
        for (const layer of this.draft.layers)
            for (const filter of layer.filters)
                if (filter.shapes?.includes(shape))
                    return [layer, filter];
        return [null, null];
    }

    // Selects a shape, and opens the card of its layer.
    select(shape, open = true) {
        if (this.selected === shape)
            return;
        this.selected = shape;
        const [layer] = shape ? this.ownerOf(shape) : [null];
        if (open && layer && this.open !== layer.id) {
            this.open = layer.id;
            this.render();
        }
        this.overlay.draw();
    }

    shapeChanged(shape) {
        const [layer, filter] = this.ownerOf(shape);
        if (!layer)
            return;
        drafts.shapesChanged(filter);
        layer.touched = true;
        this.changed(false);
    }

    addFilter(shape) {
        if (!this.draft)
            return;
        const filter = newFilter('hide');
        filter.shapes = shape ? [shape] : null;
        drafts.shapesChanged(filter);
        const layer = drafts.addLayer(this.draft, filter);
        this.open = layer.id;
        this.selected = shape;
        this.changed(true);
        if (shape)
            this.overlay.focus(shape);
    }

    // The regions become the base.
    hideOnly() {
        this.selected = null;
        this.open = '';
        this.act(() => drafts.moveToBase(this.draft));
    }

    // A filter without shapes applies everywhere; so the last shape of a region takes the region
    // away.
    removeShape(layer, filter, shape) {
        if (!layer)
            return;
        this.selected = null;
        const others = filter.shapes.filter((other) => other !== shape);
        if (!others.length && layer.id !== '' && layer.filters.length === 1)
            return this.act(() => drafts.removeLayer(this.draft, layer));
        filter.shapes = others;
        drafts.shapesChanged(filter);
        layer.touched = true;
        this.changed(true);
    }

    /* ---- undoing ---- */

    // What is in force has changed: what was drawn before would not fit it.
    forgetPast() {
        this.past = [];
        this.present = this.draft ? drafts.snapshot(this.draft) : '';
    }

    // A drag, or a word that is typed, is one change.
    remember(structure) {
        const now = drafts.snapshot(this.draft);
        if (now === this.present)
            return;
        if (structure || Date.now() - this.changedAt > PAUSE_MS)
            this.past = [...this.past.slice(1 - MOST_UNDONE), this.present];
        this.present = now;
        this.changedAt = Date.now();
    }

    undoKey(event) {
        const text = event.target.closest?.('input, textarea, select, dialog');
        if (event.key !== 'z' || event.shiftKey || event.altKey || text ||
            !(event.ctrlKey || event.metaKey) || !this.draft || this.draft.busy)
            return;
        event.preventDefault();
        if (this.overlay.undoCorner() || !this.past.length)
            return;
        drafts.restore(this.draft, this.past.pop());
        this.present = drafts.snapshot(this.draft);
        this.changedAt = 0;
        this.selected = null;
        this.changed(true);
    }

    /* ---- showing ---- */

    // With `structure`, the cards are made again.
    changed(structure) {
        this.remember(structure);
        if (structure)
            this.render();
        else
            this.cards.forEach((card) => card.refresh());
        this.overlay.draw();
        this.showButtons();
        if (!this.gone)
            this.check.later(this.draft);
    }

    render() {
        if (!this.draft)
            return;
        const focus = focusIn(this.element);
        const context = this.context();
        const [base, ...hides] = this.draft.layers;
        this.cards = hides.map((layer) => createLayerCard(layer, context));
        this.view.list.replaceChildren(...this.cards.map((card) => card.element));
        this.view.none.hidden = hides.length > 0;
        if (mayBe('admin')) {
            this.cards.push(createLayerCard(base, context));
            this.view.base.replaceChildren(this.cards.at(-1).element);
        } else {
            this.view.base.replaceChildren(h('code', {class: 'chain'}, base.server));
        }
        focus();
        this.showProblem();
        this.overlay.draw();
        this.showButtons();
    }

    showButtons() {
        const changes = this.draft ? drafts.changedLayers(this.draft).length : 0;
        const busy = this.draft?.busy;
        setText(this.view.apply, busy ? 'Applying' : changes > 1 ? `Apply ${changes} changes`
            : 'Apply');
        this.view.apply.disabled = busy || !changes || this.gone;
        this.view.discard.disabled = busy || !changes;
        this.view.only.hidden = !mayBe('admin') || busy || !this.draft ||
            !drafts.hasOnlyRegions(this.draft);
        this.preview.allow(!busy && !this.gone && Boolean(changes && previewChain(this.draft)));
        this.keep.allow(!changes && !busy);
        if (!changes) {
            this.view.thenRow.hidden = true;
            this.problem = null;
            this.view.conflict.hidden = true;
            setText(this.view.error, '');
        }
    }

    showProblem() {
        const problem = this.problem;
        let placed = false;
        for (const card of this.cards ?? [])
            placed = card.showProblem(card.layer === problem?.layer ? problem : null) || placed;
        setText(this.view.error, problem && !placed ? problem.text : '');
    }

    checked(answer, problem) {
        this.problem = problem;
        this.view.then.title = answer?.coverage?.words ?? '';
        setText(this.view.then, hiddenPart(answer?.coverage));
        this.view.leftThen.show(answer?.leaves);
        this.view.thenRow.hidden = !answer;
        this.showProblem();
    }

    /* ---- applying ---- */

    async apply() {
        this.draft.busy = true;
        // Apply is disabled meanwhile, and after it was used: the focus does not get lost with it.
        if (document.activeElement === this.view.apply)
            this.view.heading.focus({preventScroll: true});
        this.showButtons();
        const {done, problem, conflict} = await applyDraft(this.draft);
        this.draft.busy = false;
        this.appliedAt = Date.now();
        this.forgetPast();
        this.seen = ''; // the next status counts, also if it is the same as before
        this.problem = problem ?? null;
        this.render();
        if (done)
            say(`The changes of ${this.name} are in force.`);
        if (conflict !== 'theirs')
            return;
        this.discard();
        say('Your unapplied changes were discarded. The filters in force are shown in a moment.');
    }

    discard() {
        for (const layer of drafts.changedLayers(this.draft))
            drafts.revert(this.draft, layer);
        this.selected = null;
        this.check.cancel();
        this.seen = ''; // what others did meanwhile is taken over with the next status
        this.changed(true);
    }

    destroy() {
        document.removeEventListener('keydown', this.onKey);
        this.check.cancel();
        this.preview.destroy();
        this.overlay.destroy();
        kept.release(this.name);
    }
}
