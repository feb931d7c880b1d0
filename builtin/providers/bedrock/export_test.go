package bedrock

// InferenceID returns the ID under which a model is used in a region.
func InferenceID(model, region string) string { return inferenceID(model, region) }
