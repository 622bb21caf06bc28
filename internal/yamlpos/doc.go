// Package yamlpos reads a YAML file that people wrote into Go structs and says everything
// that is wrong with it in one go: each Problem with its line, its column, the path of the
// value, plain words and a hint. It stands on the node tree of go.yaml.in/yaml/v4, because
// only nodes know where they came from and keep every scalar as it was written.
//
// It will not guess types by content (a field of type string takes 0123 as
// "0123"), or read more than one document, more than 1 MB, or aliases that multiply into
// more than 100,000 values.
//
// The same struct tags that steer decoding also make the JSON Schema for editors (Schema),
// the reference for people (Reference) and the file as it was understood (Doc.Effective).
package yamlpos
