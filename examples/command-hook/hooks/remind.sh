# PostToolUse: what stands in additionalContext is added to what the model sees of the result.
cat >/dev/null
echo '{"hookSpecificOutput": {"hookEventName": "PostToolUse", "additionalContext": "Run the tests before you say that you are done."}}'
