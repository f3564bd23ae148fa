// What an element is, and what submitting its form would send. `typed` are the elements for which
// text is kept back. Run in the page: a page can make it say anything of what the page itself holds.
(element, typed) => {
  const tag = element.localName;
  const label = element.closest('label');
  const target = label && label.control && !element.closest('button,input,select,textarea,a')
    ? label.control : element;
  const control = target.closest('button,input,select,textarea') || target;
  const type = (control.type || '').toLowerCase();
  const form = control.form || target.closest('form') || null;
  const named = control.localName;
  const submits = !!control.form && !control.disabled
    && ((named === 'button' && type === 'submit') || (named === 'input' && ['submit', 'image'].includes(type)));
  const editable = control.isContentEditable
    || named === 'textarea'
    || (named === 'input' && !['submit', 'image', 'button', 'reset', 'checkbox', 'radio', 'file', 'hidden'].includes(type));
  const found = {
    tag, type, submits, editable, file: named === 'input' && type === 'file',
    select: named === 'select', fixed: !!(control.disabled || control.readOnly),
    in_form: !!form,
  };
  if (!form) return found;
  const own = submits ? control : null;
  const at = (name, other) => own && own.hasAttribute('form' + name)
    ? own.getAttribute('form' + name) : form.getAttribute(name) || other;
  found.action = new URL(at('action', '') || form.ownerDocument.URL, form.ownerDocument.baseURI).href;
  found.method = at('method', 'get').toUpperCase();
  found.fields = [];
  for (const one of Array.from(form.elements).slice(0, 500)) {
    const kind = (one.type || '').toLowerCase();
    const place = typed.indexOf(one);
    if (place < 0) {
      if (!one.name || one.disabled || ['fieldset', 'object', 'output'].includes(one.localName)) continue;
      if (['submit', 'image', 'button', 'reset'].includes(kind) && one !== own) continue;
      if (['checkbox', 'radio'].includes(kind) && !one.checked) continue;
    }
    const values = kind === 'select-multiple' ? Array.from(one.selectedOptions, o => o.value)
      : kind === 'file' ? Array.from(one.files, f => f.name) : [one.value || ''];
    for (const value of values) found.fields.push({name: one.name || '', kind, value: String(value), typed: place});
  }
  return found;
}
