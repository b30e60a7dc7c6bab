# SPDX-License-Identifier: BSD-2-Clause
"""As much of JSON Schema 2020-12 as halod --schema uses. An unknown keyword is an error here."""
import re

KNOWN = {'$schema', '$defs', '$ref', 'title', 'description', 'default', 'type', 'const', 'enum',
         'not', 'anyOf', 'oneOf', 'minimum', 'maximum', 'minLength', 'pattern', 'properties',
         'additionalProperties', 'propertyNames', 'required', 'minProperties', 'maxProperties',
         'items', 'minItems', 'maxItems'}


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


TYPES = {
    'null': lambda v: v is None,
    'boolean': lambda v: isinstance(v, bool),
    'integer': lambda v: is_number(v) and v == int(v),
    'number': is_number,
    'string': lambda v: isinstance(v, str),
    'array': lambda v: isinstance(v, list),
    'object': lambda v: isinstance(v, dict),
}


def same(a, b):
    return type(a) is type(b) and a == b


class Schema:
    def __init__(self, root):
        self.root = root

    def find(self, reference):
        node = self.root
        for part in reference.removeprefix('#/').split('/'):
            node = node[part]
        return node

    def fits(self, value, schema=None):
        return not any(self.errors(value, self.root if schema is None else schema, ''))

    def errors(self, value, schema, path):
        if schema is False:
            yield f'{path}: is not allowed'
        if isinstance(schema, bool):
            return
        unknown = set(schema) - KNOWN
        if unknown:
            raise ValueError(f'keywords that are not checked: {unknown}')
        if '$ref' in schema:
            yield from self.errors(value, self.find(schema['$ref']), path)
        if 'type' in schema:
            types = schema['type'] if isinstance(schema['type'], list) else [schema['type']]
            if not any(TYPES[name](value) for name in types):
                yield f'{path}: is no {types}'
        if 'const' in schema and not same(value, schema['const']):
            yield f'{path}: is not {schema["const"]}'
        if 'enum' in schema and not any(same(value, v) for v in schema['enum']):
            yield f'{path}: is none of {schema["enum"]}'
        if 'not' in schema and self.fits(value, schema['not']):
            yield f'{path}: is refused'
        if 'anyOf' in schema and not any(self.fits(value, s) for s in schema['anyOf']):
            yield f'{path}: fits none'
        if 'oneOf' in schema and sum(self.fits(value, s) for s in schema['oneOf']) != 1:
            yield f'{path}: does not fit one'
        if is_number(value):
            yield from self.number_errors(value, schema, path)
        elif isinstance(value, str):
            yield from self.text_errors(value, schema, path)
        elif isinstance(value, list):
            yield from self.list_errors(value, schema, path)
        elif isinstance(value, dict):
            yield from self.map_errors(value, schema, path)

    def number_errors(self, value, schema, path):
        if value < schema.get('minimum', value) or value > schema.get('maximum', value):
            yield f'{path}: is out of range'

    def text_errors(self, value, schema, path):
        if len(value) < schema.get('minLength', 0):
            yield f'{path}: is too short'
        if 'pattern' in schema and not re.search(schema['pattern'], value, re.ASCII):
            yield f'{path}: has another form'

    def list_errors(self, value, schema, path):
        if not schema.get('minItems', 0) <= len(value) <= schema.get('maxItems', len(value)):
            yield f'{path}: has {len(value)} entries'
        for index, item in enumerate(value):
            yield from self.errors(item, schema.get('items', True), f'{path}[{index}]')

    def map_errors(self, value, schema, path):
        least, most = schema.get('minProperties', 0), schema.get('maxProperties', len(value))
        if not least <= len(value) <= most:
            yield f'{path}: has {len(value)} keys'
        for name in set(schema.get('required', ())) - set(value):
            yield f'{path}.{name}: is missing'
        known = schema.get('properties', {})
        for name, item in value.items():
            yield from self.errors(name, schema.get('propertyNames', True), f'{path}.{name}')
            rest = schema.get('additionalProperties', True)
            yield from self.errors(item, known.get(name, rest), f'{path}.{name}')
