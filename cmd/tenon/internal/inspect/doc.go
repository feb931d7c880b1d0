// Package inspect holds the commands that show something and change nothing: statistics, the doctor, configuration, models,
// hooks, agents, commands and skills.
package inspect
