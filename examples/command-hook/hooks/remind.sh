# PostToolUse: the text in additionalContext is added to the result that the model sees.
cat >/dev/null
echo '{"hookSpecificOutput": {"hookEventName": "PostToolUse", "additionalContext": "Run the tests before you say that you are done."}}'
