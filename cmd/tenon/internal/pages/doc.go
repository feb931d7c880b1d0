// Package pages keeps the resident memory of the process small.
package pages
